import type { AuditedPrincipal } from '../../audit/records/audit-record.ts'
import { getRequestRecord, type SelectedRecord } from '../../audit/query/select-records.ts'
import { alignColumns, formatRuleReference } from '../policy/format-policy.ts'
import { formatIds, formatResult } from './format-result.ts'
import type { LocateRule } from './locate-rule.ts'
import { printable } from './format-result.ts'

type Row = readonly [label: string, text: string]

/** Formats what a record says, as a line and indented rows. Without `locate`, says how to find the rule of a decision. */
export function formatStory(selected: SelectedRecord, locate: LocateRule | undefined): readonly string[] {
  const { record } = selected
  const hasRequest = record.kind === 'intent' || record.kind === 'refusal' || record.kind === 'passThrough'
  const rows = [
    ...(hasRequest ? listRequestRows(selected) : []),
    ...row('result', formatResult(record)),
    ...row('status', record.kind === 'outcome' ? record.status : undefined),
    ...row(
      'duration',
      record.kind === 'outcome' && record.durationMs !== undefined ? `${record.durationMs} ms` : '',
    ),
    ...('details' in record ? Object.entries(record.details ?? {}) : []).flatMap(([name, value]) =>
      row(name, typeof value === 'string' ? value : JSON.stringify(value)),
    ),
    ...(hasRequest ? listRuleRows(selected, locate) : []),
  ]
  const heading = `${record.time}  ${record.kind}  ${record.chain}:${record.seq}`
  return [heading, ...alignColumns(rows.map(([label, text]) => [`  ${label}`, printable(text)]))]
}

function listRequestRows(selected: SelectedRecord): readonly Row[] {
  const { record } = selected
  const { operation, id, principal } = getRequestRecord(selected) ?? {}
  const on = id === undefined || id.length === 0 ? '' : ` on ${formatIds([id])}`
  const objects = record.kind === 'intent' ? (record.objects ?? []) : []
  return [
    ...row('operation', operation && `${operation}${on}`),
    ...objects.flatMap((object) => row('requires', `${object.operation} on ${formatIds([object.id])}`)),
    ...row('principal', principal ? formatPrincipal(principal) : 'none: no valid credential'),
    ...row('groups', principal?.groups && formatGroups(principal)),
    ...('client' in record ? row('client', record.client) : []),
    ...('peer' in record ? row('proxy', record.peer) : []),
    ...(record.kind === 'intent' ? row('upstream', record.upstream) : []),
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

function listRuleRows({ record }: SelectedRecord, locate: LocateRule | undefined): readonly Row[] {
  if (record.kind !== 'intent' && record.kind !== 'refusal') return []
  const { rule, policyRevision } = record
  if (policyRevision === undefined) return []
  if (rule === undefined)
    return [
      ['rule', 'none: no rule allows it'],
      ['policies', `revision ${policyRevision}`],
    ]
  const place = locate?.(rule, policyRevision) ?? 'give --policies or --config to see where the rule is now'
  return [
    ['rule', `${record.kind === 'intent' ? 'allowed' : 'denied'} by ${formatRuleReference(rule)}`],
    ['policies', `revision ${policyRevision}`],
    ['policy', place],
  ]
}

function row(label: string, value: string | number | undefined): readonly Row[] {
  return value === undefined || value === '' ? [] : [[label, String(value)]]
}
