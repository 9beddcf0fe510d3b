import type { Command } from 'commander'
import {
  getRequestRecord,
  selectRecords,
  type SelectedRecord,
  type RecordFilter,
} from '../../audit/query/select-records.ts'
import type { StoredRecord } from '../../audit/storage/read-audit-log.ts'
import type { OutOfBandVersions } from '../../audit/records/audit-record.ts'
import { folderArgument, addSelectionOptions } from './audit-options.ts'
import { runStep } from '../common/command-failure.ts'
import { newCommand } from '../common/new-command.ts'
import { printLines } from '../common/print-lines.ts'

interface QueryOptions extends RecordFilter {
  readonly json?: boolean
}

export function queryCommand(): Command {
  return addSelectionOptions(newCommand('query'))
    .description('show the records of an audit log, oldest first')
    .argument(...folderArgument)
    .option('--json', 'print the records as stored, as JSON lines')
    .action(query)
}

async function query(folder: string, { json = false, ...selection }: QueryOptions): Promise<void> {
  await runStep('the audit log cannot be read', () =>
    printLines(formatRecords(selectRecords(folder, selection), json)),
  )
}

async function* formatRecords(
  selected: AsyncIterable<SelectedRecord>,
  json: boolean,
): AsyncGenerator<string> {
  if (!json) yield formatRow('TIME', 'CHAIN:SEQ', 'KIND', 'PRINCIPAL', 'OPERATION', 'OBJECT', 'RESULT')
  for await (const { record, context } of selected) {
    const request = getRequestRecord(record, context)
    yield json
      ? JSON.stringify(record)
      : formatRow(
          record.time,
          `${record.chain}:${record.seq}`,
          record.kind,
          request?.principal?.name ?? '-',
          request?.operation ?? '-',
          formatIds(record.tables?.map(({ id }) => id) ?? (request?.id ? [request.id] : [])),
          formatResult(record),
        )
  }
}

const widths = [24, 28, 8, 20, 26, 32]

/**
 * Formats columns. Escapes control characters, since callers choose some of the text: it must not move the cursor of a
 * terminal.
 */
function formatRow(...cells: readonly string[]): string {
  return cells
    .map((cell, column) => cell.replaceAll(/\p{C}/gu, '?').padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
}

function formatIds(ids: readonly (readonly string[])[]): string {
  return ids.map((id) => id.join('$')).join(',') || '-'
}

function formatResult(record: StoredRecord): string {
  switch (record.kind) {
    case 'outcome':
      return record.result + formatVersion(record) + formatOutOfBandVersions(record)
    case 'refusal':
      return `${record.status} ${record.reason}`
    case 'passThrough':
      return `${record.method} ${record.prefix}: ${record.path}`
    case 'reload':
      return `${record.what} ${record.revision}`
    case 'gap':
      return `${record.dropped + record.refused} records missing`
    case 'tampered':
      return `${record.file} ${record.what}`
    case 'resolved':
      return `${record.result}: ${record.evidence}${formatOutOfBandVersions(record)}`
    case 'recovered':
      return `${record.file}: ${record.bytesCut} bytes truncated, ${record.bytesRestored ?? 0} restored`
    case 'pruned':
      return `${record.files.length} files removed`
    case 'seal':
      return `${record.leaves} records signed`
    case 'start':
      return `${record.gateway} ${record.software}`
    case 'intent':
    case 'segment':
      break
  }
  return ''
}

function formatVersion({ version, versions = [] }: Extract<StoredRecord, { kind: 'outcome' }>): string {
  if (version === undefined) return ''
  return ` version ${version}${versions.some(({ observed }) => observed) ? ' (observed)' : ''}`
}

/** Versions that were created without the gateway; ids are shown if the record concerns several tables. */
function formatOutOfBandVersions({
  outOfBand = [],
  tables = [],
}: Extract<StoredRecord, { kind: 'outcome' | 'resolved' }>): string {
  if (outOfBand.length === 0) return ''
  const shown = outOfBand.map(
    ({ id, branch, from, to }: OutOfBandVersions) =>
      (tables.length > 1 ? `${formatIds([id])} ` : '') +
      (from === to ? `${from}` : `${from}..${to}`) +
      (branch === undefined ? '' : ` on branch ${branch}`),
  )
  return `; out of band: ${shown.join(', ')}`
}
