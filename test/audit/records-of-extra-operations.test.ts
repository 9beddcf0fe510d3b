import { expect, it } from 'vitest'
import { planLookups } from '../../src/audit/in-doubt/in-doubt-changes.ts'
import { KnownVersions } from '../../src/audit/in-doubt/known-versions.ts'
import type { IntentEntry } from '../../src/audit/records/audit-record.ts'
import { readRecordedCall } from '../../src/audit/records/recorded-call.ts'
import { readAuditLog } from '../../src/audit/storage/read-audit-log.ts'
import type { AuditRecord } from '../../src/audit/records/audit-record.ts'
import { createExtraOperations } from '../../src/catalog-api/extra-operation.ts'
import type { Operation } from '../../src/catalog-api/operations.ts'
import { replayCall } from '../../src/policy/analysis/replay.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { parsePolicies } from '../policy/parse-policies.ts'
import { createPolicyVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { extraOperations } from '../gateway/support/extra-operations.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { aRefusal, anIntent, committed, openLog } from './audit-fixtures.ts'

// Records outlive settings, so nothing that reads them finds a definition of an extra operation.
const declared = createExtraOperations([{ extraOperations }])

function find(name: string): Operation {
  const operation = declared.find((one) => one.name === name)
  if (operation === undefined) throw new Error(`${name} is not declared`)
  return operation
}

function extraIntent(request: string, name: string): IntentEntry {
  const { name: operation, effect } = find(name)
  return { ...anIntent(request), operation, effect }
}

async function readRecords(): Promise<readonly AuditRecord[]> {
  const { folder, log } = await openLog()
  const receipt = await log.recordIntent(extraIntent('change', 'CompactTable'))
  await log.recordOutcome(receipt, { ...committed, version: undefined })
  await log.recordIntent(extraIntent('read', 'PrewarmTable'))
  log.recordRefusal({ ...aRefusal('refused'), operation: find('CompactTable').name })
  await log.close()
  const records: AuditRecord[] = []
  for await (const record of readAuditLog(folder)) records.push(record)
  return records
}

it('a record links to the history of the table', async () => {
  const records = await readRecords()
  const linked = records.flatMap((record) => ('tables' in record ? record.tables : []) ?? [])
  expect(new Set(linked.map(({ id }) => id.join('/')))).toEqual(new Set(['production/orders']))
})

/** Whether a recorded change is allowed by a rule for those operations. */
function isAllowedInReplay(...operations: readonly string[]): boolean | undefined {
  const rules = [{ id: 'r', effect: 'allow', subjects: { any: true }, operations }] as const
  const text = formatPolicies([{ name: 'p', namespace: [], rules }])
  const { documents } = parsePolicies(text, 'p.yaml', createPolicyVocabulary({ extraOperations: declared }))
  const stored = { kind: 'intent', time: '2026-06-15T12:00:00Z', ...extraIntent('r', 'CompactTable') }
  const call = readRecordedCall(stored as unknown as AuditRecord)
  return call && replayCall(call, compilePolicies(documents)).after?.allowed
}

it('a replay decides by the name alone', () => {
  const replayed = [['CompactTable'], ['all'], ['MirrorTable']].map((names) => isAllowedInReplay(...names))
  expect(replayed).toEqual([true, false, false])
})

it('a change without an outcome stays in doubt, and may have created versions of its table', () => {
  const intent = extraIntent('lost', 'CompactTable')
  expect(planLookups({ ...intent, before: 7 })).toEqual([])
  const known = new KnownVersions()
  const { id } = intent
  known.add({ ...anIntent('i'), operation: 'InsertIntoTable' }, [{ id, version: 7 }])
  known.add(intent)
  expect(known.getNewest(id, undefined)).toBe(7)
  expect(known.findCreator(id, undefined, 8)).toBeUndefined()
})
