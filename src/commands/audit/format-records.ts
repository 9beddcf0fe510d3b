import { formatIdentifierText } from '../../catalog-api/index.ts'
import {
  type AuditedPrincipal,
  describeResult,
  getRequestRecord,
  type SelectedRecord,
} from '../../audit/index.ts'
import type { KeyChange } from '../../identity/index.ts'
import { alignColumns, formatCount } from '../../lib/index.ts'
import { formatRule, qualifiedRuleName } from '../../policy/index.ts'

/** Replaces control characters: callers choose some of the text, which must not move the cursor of a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}

function formatIds(ids: readonly (readonly string[])[]): string {
  return ids.map(formatIdentifierText).join(',') || '-'
}

/** Formats a record without its request and rule, in one line. */
function formatResult(selected: SelectedRecord): string {
  const { record } = selected
  switch (record.kind) {
    case 'outcome':
      return describeResult(selected) + (record.version === undefined ? '' : ` version ${record.version}`)
    case 'refusal':
      return `${record.status} ${record.reason}`
    case 'passThrough':
      return `${record.method} ${record.prefix}: ${record.path}`
    case 'reload':
      return [
        `${record.what} ${record.revision}`,
        ...(record.details?.['found'] === undefined ? [] : ['found at start']),
        ...(record.keys ?? []).map(formatKeyChange),
      ].join('; ')
    case 'gap':
      return `${formatCount(record.dropped + record.refused, 'record')} missing`
    case 'tampered':
      return `${record.file} ${record.what}${record.lines === undefined ? '' : ` by ${formatCount(record.lines, 'line')} from line ${record.line} on`}`
    case 'resolved':
      return `${record.result}: ${record.evidence}`
    case 'recovered':
      return `${record.file}: ${record.bytesCut} bytes truncated`
    case 'pruned':
      return `${record.files.length} files removed`
    case 'seal':
      return `${formatCount(record.leaves, 'record')} signed`
    case 'start':
      return `${record.gateway} ${record.software}`
    case 'intent':
    case 'segment':
      break
  }
  return ''
}

function formatKeyChange({ change, key, principal, by, replaces, members = [] }: KeyChange): string {
  return (
    `${change} ${key} of ${principal}` +
    (replaces === undefined ? '' : ` after ${replaces}`) +
    (members.length === 0 ? '' : ` (${members.join(', ')})`) +
    (by === undefined ? '' : ` by ${by}`)
  )
}

type Row = readonly [label: string, value: unknown]

/** Formats a record as a line and indented rows. */
export function formatStory(selected: SelectedRecord): readonly string[] {
  const { record } = selected
  const { status, durationMs } = record.kind === 'outcome' ? record : {}
  const rows: readonly Row[] = [
    ...listRequestRows(selected),
    ['result', formatResult(selected)],
    ['status', status],
    ['duration', durationMs === undefined ? '' : `${durationMs} ms`],
    ...Object.entries('details' in record ? (record.details ?? {}) : {}),
    ...listRuleRows(selected),
  ]
  const heading = `${record.time}  ${record.kind}  ${record.chain}:${record.seq}`
  const filled = rows.filter(([, value]) => value !== undefined && value !== '')
  const texts = filled.map(([label, value]) => [
    `  ${label}`,
    printable(typeof value === 'string' ? value : JSON.stringify(value)),
  ])
  return [heading, ...alignColumns(texts)]
}

function listRequestRows(selected: SelectedRecord): readonly Row[] {
  const { record } = selected
  if (record.kind !== 'intent' && record.kind !== 'refusal' && record.kind !== 'passThrough') return []
  const { operation, id, principal } = getRequestRecord(selected) ?? {}
  const on = id === undefined || id.length === 0 ? '' : ` on ${formatIds([id])}`
  const { objects = [], upstream, context = {} } = record.kind === 'intent' ? record : {}
  return [
    ['operation', operation && `${operation}${on}`],
    ...objects.map((object) => ['requires', `${object.operation} on ${formatIds([object.id])}`] as const),
    ['principal', principal ? formatPrincipal(principal) : 'none: no valid credential'],
    ['groups', principal?.groups && formatGroups(principal)],
    ...Object.entries(context).map(([key, value]) => ['context', `${key}: ${value}`] as const),
    ['client', record.client],
    ['proxy', record.peer],
    ['upstream', upstream],
  ]
}

function formatPrincipal({ name, method, credentialId, issuer }: AuditedPrincipal): string {
  const credential = credentialId === '' ? '' : ` ${credentialId}`
  return `${name} (${method}${credential}${issuer === undefined ? '' : ` of ${issuer}`})`
}

function formatGroups({ groups = [], groupsOmitted }: AuditedPrincipal): string {
  const names = [...groups, ...(groupsOmitted === undefined ? [] : [`${groupsOmitted} more`])]
  return names.length === 0 ? 'none' : names.join(', ')
}

function listRuleRows({ record }: SelectedRecord): readonly Row[] {
  if (record.kind !== 'intent' && record.kind !== 'refusal') return []
  const { rule, policyRevision } = record
  if (policyRevision === undefined) return []
  const decision = record.kind === 'intent' ? 'allowed' : 'denied'
  return [
    ['rule', rule ? `${decision} by ${formatRule(rule)}` : 'none: no rule allows it'],
    ['policies', `revision ${policyRevision}`],
  ]
}

/** Formats a record as a row below `tableHeader`. */
export function formatRecordRow(selected: SelectedRecord): string {
  const { record } = selected
  const request = getRequestRecord(selected)
  return formatRow(
    record.time,
    `${record.chain}:${record.seq}`,
    record.kind,
    request?.principal?.name ?? '-',
    request?.operation ?? '-',
    formatIds(record.tables?.map(({ id }) => id) ?? (request?.id ? [request.id] : [])),
    'request' in record ? record.request : '-',
    request?.rule ? qualifiedRuleName(request.rule) : '-',
    formatPermissions(selected),
    formatResult(selected),
  )
}

/** Returns the permission that a refused request lacks; otherwise all that it has. */
function formatPermissions(selected: SelectedRecord): string {
  const { record } = selected
  const required = record.kind === 'refusal' ? record.details?.['needs'] : undefined
  if (typeof required === 'string') return required.replace(/ .*/s, '')
  const { operation, objects = [] } = getRequestRecord(selected) ?? {}
  const names = new Set([...(operation ? [operation] : []), ...objects.map((object) => object.operation)])
  return [...names].join(',') || '-'
}

const columns = [
  ['TIME', 24],
  ['CHAIN:SEQ', 28],
  ['KIND', 8],
  ['PRINCIPAL', 20],
  ['OPERATION', 26],
  ['OBJECT', 32],
  ['REQUEST', 36],
  ['RULE', 28],
  ['PERMISSION', 26],
  ['RESULT', 0],
] as const

function formatRow(...cells: readonly string[]): string {
  return cells
    .map((cell, column) => printable(cell).padEnd(columns[column]?.[1] ?? 0))
    .join('  ')
    .trimEnd()
}

export const tableHeader = formatRow(...columns.map(([name]) => name))
