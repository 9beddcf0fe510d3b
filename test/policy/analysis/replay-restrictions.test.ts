import { expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import type { IntentEntry } from '../../../src/audit/records/audit-record.ts'
import { readRecordedCall } from '../../../src/audit/records/recorded-call.ts'
import { replayCall } from '../../../src/policy/analysis/replay.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { anIntent } from '../../audit/intent-fixtures.ts'
import { parseDocuments } from '../parse-documents.ts'
import type { WrittenRule } from '../policy-builder.ts'

const part = { policy: 'p', rule: 'part', file: 'p.yaml', line: 1 }

function restrictionsOf(
  record: Partial<IntentEntry> & { readonly groups?: readonly string[] },
  subjects: WrittenRule['subjects'],
) {
  const restriction = { id: 'part', subjects, tables: ['t'], columns: { id: 'number' } }
  const documents = parseDocuments([
    {
      name: 'p',
      namespace: ['a'],
      restrict: [restriction],
      rules: [{ id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'] }],
    },
  ])
  const { details: _details, ...entry } = anIntent('r1')
  const { groups, ...more } = record
  const principal = { ...entry.principal, name: 'ann', ...(groups && { groups }) }
  const stored = { kind: 'intent', time: '2026-06-15T12:00:00Z', ...entry, principal, effect: 'read' }
  const read = { operation: 'QueryTable', id: ['a', 't'], ...more }
  const call = readRecordedCall({ ...stored, ...read } as unknown as AuditRecord)
  const replayed = call && replayCall(call, { candidate: compilePolicies(documents) })
  expect(replayed?.after?.allowed).toBe(true)
  return replayed?.restrictions
}

const ann = { users: ['ann'] }
const analysts = { groups: ['analysts'] }

it.each<
  [what: string, record: Parameters<typeof restrictionsOf>[0], WrittenRule['subjects'], expected: unknown]
>([
  ['names the caller', {}, ann, { before: [], after: ['p/part'], possible: [] }],
  ['names others', {}, { users: ['bob'] }, undefined],
  ['names a recorded group', { groups: ['analysts'] }, analysts, { after: ['p/part'], possible: [] }],
  ['names a group that the caller does not have', { groups: [] }, analysts, undefined],
  ['names a group that is not recorded', {}, analysts, { before: [], after: [], possible: ['p/part'] }],
  ['is in the record', { restrictedBy: [part] }, ann, undefined],
  ['is in the record, without the groups', { restrictedBy: [part] }, analysts, undefined],
  [
    'is no longer for the caller',
    { restrictedBy: [part] },
    { users: ['bob'] },
    { before: ['p/part'], after: [], possible: [] },
  ],
  ['is of another table', { id: ['a', 'other'] }, ann, undefined],
])('a restriction that %s', (_what, record, subjects, expected) => {
  const restrictions = restrictionsOf(record, subjects)
  if (expected === undefined) expect(restrictions).toBeUndefined()
  else expect(restrictions).toMatchObject(expected as object)
})
