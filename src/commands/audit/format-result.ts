import { formatCount } from '../../lib/format-count.ts'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { OutOfBandVersions } from '../../audit/records/audit-record.ts'
import type { KeyChange } from '../../identity/api-keys/key-changes.ts'
import type { StoredRecord } from '../../audit/storage/read-audit-log.ts'
import { formatRuleReference } from '../policy/format-policy.ts'

export function formatIds(ids: readonly (readonly string[])[]): string {
  return ids.map(formatIdentifierText).join(',') || '-'
}

/** Formats in one line what a record says besides its request. */
export function formatResult(record: StoredRecord): string {
  switch (record.kind) {
    case 'outcome':
      return record.result + formatVersion(record) + formatOutOfBandVersions(record)
    case 'refusal':
      return `${record.status} ${record.reason}${record.rule ? ` by ${formatRuleReference(record.rule)}` : ''}`
    case 'passThrough':
      return `${record.method} ${record.prefix}: ${record.path}`
    case 'comparison':
      return `version ${record.version} after ${record.before}${formatOutOfBandVersions(record)}`
    case 'reload':
      return [
        `${record.what} ${record.revision}`,
        ...(record.details?.['found'] === undefined ? [] : ['found at start']),
        ...(record.keys ?? []).map(formatKeyChange),
      ].join('; ')
    case 'gap':
      return `${formatCount(record.dropped + record.refused, 'record')} missing`
    case 'tampered':
      return `${record.file} ${record.what}`
    case 'resolved':
      return `${record.result}: ${record.evidence}${formatOutOfBandVersions(record)}`
    case 'recovered':
      return `${record.file}: ${record.bytesCut} bytes truncated, ${record.bytesRestored ?? 0} restored`
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

function formatVersion({ version, versions = [] }: Extract<StoredRecord, { kind: 'outcome' }>): string {
  if (version === undefined) return ''
  return ` version ${version}${versions.some(({ observed }) => observed) ? ' (observed)' : ''}`
}

/** Versions that were created without the gateway; ids are shown if the record concerns several tables. */
function formatOutOfBandVersions({
  outOfBand = [],
  tables = [],
}: Extract<StoredRecord, { kind: 'outcome' | 'resolved' | 'comparison' }>): string {
  if (outOfBand.length === 0) return ''
  const shown = outOfBand.map(
    ({ id, branch, from, to }: OutOfBandVersions) =>
      (tables.length > 1 ? `${formatIds([id])} ` : '') +
      (from === to ? `${from}` : `${from}..${to}`) +
      (branch === undefined ? '' : ` on branch ${branch}`),
  )
  return `; out of band: ${shown.join(', ')}`
}
