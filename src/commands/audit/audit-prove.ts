import type { Command } from 'commander'
import { proveTable } from '../../audit/verify/prove-table.ts'
import { readSealVerifier } from '../../audit/records/seal-key.ts'
import { verifyProofs } from '../../audit/verify/verify-proofs.ts'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { formatExample } from '../common/format-example.ts'
import { parseIdArgument } from '../common/arguments.ts'
import { folderArgument, publicKeyOption } from './audit-options.ts'
import { formatCount } from '../../lib/format-count.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'
import { printLines } from '../common/print-lines.ts'

interface ProveOptions {
  readonly table: readonly string[]
}

interface VerifyOptions {
  readonly publicKey: readonly string[]
}

export function proveCommand(io: Io): Command {
  return newCommand('prove', io)
    .description('print the history of one table with a proof that the log contains it, without other tables')
    .argument(...folderArgument)
    .requiredOption(
      '--table <id>',
      'the table, such as prod/sales/orders or prod$sales$orders',
      parseIdArgument,
    )
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway audit prove .catalog-gateway/audit --table prod/sales/orders > orders.proof',
      ),
    )
    .action((folder: string, options: ProveOptions) => prove(folder, options, io))
}

export function verifyProofCommand(io: Io): Command {
  return newCommand('verify-proof', io)
    .description('verify the output of `audit prove` without the log')
    .argument('<file>', 'the output of `audit prove`')
    .option(...publicKeyOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway audit verify-proof orders.proof --public-key seal-public-key.pem'),
    )
    .action((file: string, options: VerifyOptions, command: Command) =>
      checkProof(file, options, command, io),
    )
}

async function prove(folder: string, { table }: ProveOptions, io: Io): Promise<void> {
  let [records, unsealed] = [0, 0]
  async function* lines(): AsyncGenerator<string> {
    const counts = yield* proveTable(folder, table)
    records += counts.records
    unsealed += counts.unsealed
  }
  const isPrinted = await runStep('the audit log cannot be read', () => printLines(io, lines()))
  if (!isPrinted) return
  if (unsealed > 0) {
    io.stderr.write(`${unsealed} newer records are not sealed yet and not in the proof\n`)
  }
  if (records === 0) throw new CommandFailure('the log has no sealed record of this table')
}

async function checkProof(
  file: string,
  { publicKey }: VerifyOptions,
  command: Command,
  io: Io,
): Promise<void> {
  if (publicKey.length === 0) command.error("error: required option '--public-key <file>' not specified")
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
    io.stdout.write(
      `valid: ${formatCount(records, 'record')} of table ${formatIdentifierText(table)}, ${started}, complete from ${first} to ${last}\n`,
    )
  }
}
