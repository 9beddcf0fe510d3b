import type { Command } from 'commander'
import { listLogFolders } from '../../audit/storage/log-folders.ts'
import { proveTable } from '../../audit/verify/prove-table.ts'
import { readSealVerifier } from '../../audit/records/seal-key.ts'
import { verifyProofs } from '../../audit/verify/verify-proofs.ts'
import { folderArgument, publicKeyOption, parseTableId } from './audit-options.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { newCommand } from '../common/new-command.ts'
import { printLines } from '../common/print-lines.ts'

export function proveCommand(): Command {
  return newCommand('prove')
    .description('print the history of one table with a proof that the log contains it, without other tables')
    .argument(...folderArgument)
    .requiredOption('--table <id>', 'the table, such as prod$sales$orders', parseTableId)
    .action(prove)
}

export function verifyProofCommand(): Command {
  return newCommand('verify-proof')
    .description('verify the output of `audit prove` without the log')
    .argument('<file>', 'the output of `audit prove`')
    .option(...publicKeyOption)
    .action(checkProof)
}

async function prove(folder: string, { table }: { table: readonly string[] }): Promise<void> {
  let [records, unsealed] = [0, 0]
  async function* lines(): AsyncGenerator<string> {
    for (const log of await listLogFolders(folder)) {
      const counts = yield* proveTable(log, table)
      records += counts.records
      unsealed += counts.unsealed
    }
  }
  const isPrinted = await runStep('the audit log cannot be read', () => printLines(lines()))
  if (!isPrinted) return
  if (unsealed > 0) {
    process.stderr.write(`${unsealed} newer records are not sealed yet and not in the proof\n`)
  }
  if (records === 0) throw new CommandFailure('the log has no sealed record of this table')
}

async function checkProof(file: string, { publicKey }: { publicKey: readonly string[] }): Promise<void> {
  if (publicKey.length === 0) throw new CommandFailure('--public-key is required')
  const keys = await runStep('the public key cannot be read', () =>
    Promise.all(publicKey.map(readSealVerifier)),
  )
  const reports = await runStep('the proof cannot be read', () => verifyProofs(file, keys))
  for (const { problem, records, table, first, last, isFromBeginning } of reports) {
    if (problem) {
      throw new CommandFailure(
        `broken: line ${problem.line}: ${problem.what}\n${records} valid records before it`,
      )
    }
    const started = isFromBeginning ? 'from its first record on' : 'starting after its first record'
    process.stdout.write(
      `valid: ${records} records of table ${table.join('$')}, ${started}, complete from ${first} to ${last}\n`,
    )
  }
}
