import { formatCount } from '../../lib/format-count.ts'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { KeyChange } from '../../identity/api-keys/key-changes.ts'
import type { StoredRecord } from '../../audit/storage/read-audit-log.ts'
import { formatRuleReference } from '../policy/format-policy.ts'

/** Replaces control characters: callers choose some of the text, which must not move the cursor of a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}

export function formatIds(ids: readonly (readonly string[])[]): string {
  return ids.map(formatIdentifierText).join(',') || '-'
}

/** Formats in one line what a record says besides its request. */
export function formatResult(record: StoredRecord): string {
  switch (record.kind) {
    case 'outcome':
      return record.result + (record.version === undefined ? '' : ` version ${record.version}`)
    case 'refusal':
      return `${record.status} ${record.reason}${record.rule ? ` by ${formatRuleReference(record.rule)}` : ''}`
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
