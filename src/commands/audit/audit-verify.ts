import type { Command } from 'commander'
import { readSealVerifier, verifyAuditLog, type VerifyReport } from '../../audit/index.ts'
import { collect } from '../common/arguments.ts'
import { formatCount } from '../../lib/index.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { formatProblem } from '../common/log-problems.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample, jsonOption, newCommand } from '../common/new-command.ts'

interface VerifyOptions {
  readonly publicKey?: readonly string[]
  readonly json?: true
}

export const folderArgument = [
  '<dir>',
  'the folder of the audit log (for `dev`: `audit` in its data folder)',
] as const

export function verifyCommand(io: Io): Command {
  return newCommand('verify', io)
    .description('verify the records of an audit log, their hash chain and its seals')
    .argument(...folderArgument)
    .option(
      '--public-key <file>',
      'a public key of the seals (PEM); repeatable if the key was rotated',
      collect,
    )
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway audit verify .catalog-gateway/audit --public-key seal-public-key.pem'),
    )
    .action((folder: string, options: VerifyOptions) => verify(folder, options, io))
}

async function verify(folder: string, { publicKey = [], json }: VerifyOptions, io: Io): Promise<void> {
  const keys = await runStep('the public key cannot be read', () =>
    Promise.all(publicKey.map(readSealVerifier)),
  )
  const areSealsChecked = keys.length > 0
  const report = await runStep('the audit log cannot be read', () =>
    verifyAuditLog(folder, areSealsChecked ? keys : undefined),
  )
  if (json)
    printJson(io, { ...report, ok: report.ok && report.chains > 0, signaturesChecked: areSealsChecked })
  assertGood(folder, report)
  if (json) return
  printLine(io, `good: ${formatCounts(report)}`)
  for (const note of formatNotes(report, areSealsChecked)) io.stderr.write(`${note}\n`)
}

function assertGood(folder: string, report: VerifyReport): void {
  const { problems, problemCount } = report
  if (problemCount > 0) {
    const lines = problems.map((problem) => `broken: ${formatProblem(problem)}`)
    if (problemCount > lines.length) lines.push(`and ${problemCount - lines.length} more problems`)
    throw new CommandFailure([...lines, formatCounts(report)].join('\n'))
  }
  if (report.chains === 0) throw new CommandFailure(`${folder} contains no audit log`)
}

function formatCounts({ records, chains, unresolved }: VerifyReport): string {
  const open = `${formatCount(unresolved, 'change')} without an outcome`
  return `${formatCount(records, 'record')} in ${formatCount(chains, 'chain')}, ${open}`
}

function formatNotes(report: VerifyReport, areSealsChecked: boolean): string[] {
  const { seals, unsealed, tornTail, pruned, head } = report
  const since = unsealed.since === undefined ? '' : ` since ${unsealed.since}`
  return [
    areSealsChecked
      ? `${seals} seals, all signatures valid`
      : `${seals} seals, signatures not checked (no --public-key)`,
    ...(unsealed.records > 0
      ? [`unsealed tail: ${formatCount(unsealed.records, 'record')}${since} not sealed yet`]
      : []),
    ...(tornTail
      ? [`torn tail: ${tornTail.file} ends in an incomplete record, which the next start removes`]
      : []),
    ...(pruned ? [`older records removed up to record ${pruned.seq} of chain ${pruned.chain}`] : []),
    ...(head ? [`head: record ${head.seq} of chain ${head.chain}, hash ${head.hash}`] : []),
  ]
}
