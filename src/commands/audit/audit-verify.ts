import { join } from 'node:path'
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { readSealVerifier } from '../../audit/records/seal-key.ts'
import type { VerifyReport } from '../../audit/verify/verify-audit-log.ts'
import { verifyAuditLogs, type VerifiedLog } from '../../audit/verify/verify-audit-logs.ts'
import { formatExample } from '../common/format-example.ts'
import { collect, jsonOption } from '../common/arguments.ts'
import { folderArgument, publicKeyOption } from './audit-options.ts'
import { formatCount } from '../../lib/format-count.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { printJson, type Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'

interface VerifyOptions {
  readonly publicKey: readonly string[]
  readonly expectHead: readonly string[]
  readonly json?: true
}

const progressMs = 5_000

export function verifyCommand(io: Io): Command {
  return newCommand('verify', io)
    .description('verify the records of an audit log, their hash chain and its seals')
    .argument(...folderArgument)
    .option(...publicKeyOption)
    .option(
      '--expect-head <hash>',
      'the hash of a record that must exist, or its first 12 digits; repeatable, for several workers',
      (text, before: readonly string[]) => collect(parseHash(text), before),
      [],
    )
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway audit verify .catalog-gateway/audit --public-key seal-public-key.pem'),
    )
    .action((folder: string, options: VerifyOptions) => verify(folder, options, io))
}

async function verify(folder: string, { publicKey, expectHead, json }: VerifyOptions, io: Io): Promise<void> {
  const keys = await runStep('the public key cannot be read', () =>
    Promise.all(publicKey.map(readSealVerifier)),
  )
  const { logs, missingHeads } = await runStep('the audit log cannot be read', () =>
    verifyAuditLogs(folder, {
      ...(keys.length > 0 && { keys }),
      expectedHeads: expectHead,
      onProgress: createProgressReporter(io),
    }),
  )
  const areSealsChecked = keys.length > 0
  if (json) printReport(io, logs, missingHeads, areSealsChecked)
  assertGood(folder, logs, missingHeads)
  if (!json) printGood(io, logs, areSealsChecked)
}

function printReport(
  io: Io,
  logs: readonly VerifiedLog[],
  missingHeads: readonly string[],
  areSealsChecked: boolean,
): void {
  const isGood =
    logs.every(({ report }) => report.ok) &&
    logs.some(({ report }) => report.chains > 0) &&
    missingHeads.length === 0
  const reports = logs.map(({ name, report }) => ({ name, ...report }))
  printJson(io, { ok: isGood, signaturesChecked: areSealsChecked, logs: reports, missingHeads })
}

function assertGood(folder: string, logs: readonly VerifiedLog[], missingHeads: readonly string[]): void {
  const broken = logs.find(({ report }) => !report.ok)
  if (broken?.report.problem !== undefined) {
    const { problem } = broken.report
    const line = problem.line === undefined ? '' : `:${problem.line}`
    const seq = problem.seq === undefined ? '' : ` (record ${problem.seq})`
    const file = join(broken.name, problem.file)
    throw new CommandFailure(`broken: ${file}${line}${seq}: ${problem.what}\n${formatCounts(logs)} before it`)
  }
  for (const head of missingHeads) {
    const problem = `no record has the hash ${head}: the log was truncated, or this is another log`
    throw new CommandFailure(`broken: ${problem}\n${formatCounts(logs)} found`)
  }
  if (logs.every(({ report }) => report.chains === 0))
    throw new CommandFailure(`${folder} contains no audit log`)
}

function printGood(io: Io, logs: readonly VerifiedLog[], areSealsChecked: boolean): void {
  io.stdout.write(`good: ${formatCounts(logs)}\n`)
  for (const { name, report } of logs) {
    if (report.journal?.state !== 'needed') continue
    const { file, bytes } = report.journal
    io.stdout.write(
      `journal: ${join(name, file)} lacks ${bytes} bytes, which the journal contains; ` +
        'the gateway restores them when it starts\n',
    )
  }
  for (const { name, report } of logs) {
    if (report.tornTail === undefined) continue
    const { file, bytes } = report.tornTail
    io.stdout.write(
      `torn tail: ${join(name, file)} ends in ${bytes} bytes of an incomplete record; ` +
        'the gateway truncates it when it starts\n',
    )
  }
  for (const { name, report } of logs) {
    const which = name === '' ? '' : `${name}: `
    for (const note of formatNotes(report, areSealsChecked)) io.stderr.write(`${which}${note}\n`)
  }
}

function formatCounts(logs: readonly VerifiedLog[]): string {
  const count = (what: string, countIn: (report: VerifyReport) => number): string =>
    formatCount(
      logs.reduce((total, { report }) => total + countIn(report), 0),
      what,
    )
  const chains =
    count('chain', (report) => report.chains) + (logs.length > 1 ? ` of ${logs.length} logs` : '')
  const open = `${count('change', ({ unresolved }) => unresolved)} without an outcome`
  return `${count('record', ({ records }) => records)} in ${chains}, ${open}`
}

function formatNotes(
  { seals, unsealed, pruned, head, journal }: VerifyReport,
  areSealsChecked: boolean,
): string[] {
  const since = unsealed.since === undefined ? '' : ` since ${unsealed.since}`
  return [
    areSealsChecked
      ? `${seals} seals, all signatures valid`
      : `${seals} seals, signatures not checked (no --public-key)`,
    ...(unsealed.records > 0
      ? [`unsealed tail: ${formatCount(unsealed.records, 'record')}${since} not sealed yet`]
      : []),
    ...(unsealed.records > 0 && journal?.state === 'absent'
      ? ['no journal found: after a power failure, records at the end may be missing']
      : []),
    ...(journal?.state === 'unreadable'
      ? [`the journal cannot be read; records at the end may be missing: ${journal.what}`]
      : []),
    ...(pruned ? [`older records removed up to record ${pruned.seq} of chain ${pruned.chain}`] : []),
    ...(head ? [`head: record ${head.seq} of chain ${head.chain}, hash ${head.hash}`] : []),
  ]
}

function createProgressReporter(io: Io): (file: string, records: number) => void {
  let due = performance.now() + progressMs
  return (file, records) => {
    if (performance.now() < due) return
    due = performance.now() + progressMs
    io.stderr.write(`${records} records verified, up to the end of ${file}\n`)
  }
}

function parseHash(text: string): string {
  if (/^[0-9a-f]{12,64}$/.test(text)) return text
  throw new InvalidArgumentError('expected 12 to 64 lower-case hex digits')
}
