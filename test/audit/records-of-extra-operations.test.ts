import { expect, it } from 'vitest'
import { formatRecord } from '../../src/audit/formats/format-record.ts'
import { createContextTracker } from '../../src/audit/formats/record-context.ts'
import { planLookups } from '../../src/audit/in-doubt/in-doubt-changes.ts'
import { TableHistory } from '../../src/audit/in-doubt/table-history.ts'
import { openAuditLog } from '../../src/audit/log/audit-log.ts'
import type { IntentEntry } from '../../src/audit/records/audit-record.ts'
import { replayRecord } from '../../src/audit/replay/replay-record.ts'
import { readAuditLog, type StoredRecord } from '../../src/audit/storage/read-audit-log.ts'
import { createExtraOperations } from '../../src/catalog-api/extra-operation.ts'
import type { Operation } from '../../src/catalog-api/operations.ts'
import { indexDocuments } from '../../src/policy/analysis/reaching-rules.ts'
import { parsePolicies } from '../../src/policy/language/parse-policies.ts'
import { createPolicyVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { extraOperations } from '../gateway/support/extra-operations.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { anIntent, aRefusal, committed, logOptions } from './audit-fixtures.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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

async function readRecords(): Promise<readonly StoredRecord[]> {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  const receipt = await log.recordIntent(extraIntent('change', 'CompactTable'))
  await log.recordOutcome(receipt, { ...committed, version: undefined })
  await log.recordIntent(extraIntent('read', 'PrewarmTable'))
  log.recordRefusal({ ...aRefusal('refused'), operation: find('CompactTable').name })
  await log.close()
  const records: StoredRecord[] = []
  for await (const record of readAuditLog(folder)) records.push(record)
  return records
}

it('a record links to the history of the table', async () => {
  const records = await readRecords()
  const linked = records.flatMap((record) => ('tables' in record ? record.tables : []) ?? [])
  expect(new Set(linked.map(({ id }) => id.join('/')))).toEqual(new Set(['production/orders']))
})

it('events say what the record says: a read, an update, or nothing for a refusal', async () => {
  const tracker = createContextTracker()
  const events = (await readRecords()).map(
    (record) => JSON.parse(formatRecord(record, 'ocsf', tracker.track(record))) as Record<string, unknown>,
  )
  const ofOperations = events.filter(({ api }) => (api as { operation: string }).operation.endsWith('Table'))
  expect(
    ofOperations.map(({ activity_name, resources }) => [
      activity_name,
      (resources as { type: string }[])[0]?.type,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ['Update', 'table'],
      ['Read', 'table'],
      ['refusal', 'table'],
    ]),
  )
})

/** Whether a recorded change is allowed by a rule for those operations. */
function isAllowedInReplay(...operations: readonly string[]): boolean | undefined {
  const rules = [{ id: 'r', effect: 'allow', subjects: { any: true }, operations }] as const
  const text = formatPolicies([{ name: 'p', namespace: [], rules }])
  const { documents } = parsePolicies(text, 'p.yaml', createPolicyVocabulary({ extraOperations: declared }))
  const stored = { kind: 'intent', time: '2026-06-15T12:00:00Z', ...extraIntent('r', 'CompactTable') }
  return replayRecord(stored as unknown as StoredRecord, indexDocuments(documents), () => [])?.isAllowed
}

it('a replay decides by the name alone', () => {
  const replayed = [['CompactTable'], ['all'], ['MirrorTable']].map((names) => isAllowedInReplay(...names))
  expect(replayed).toEqual([true, false, false])
})

it('a change without an outcome stays in doubt, and may have created versions of its table', () => {
  const intent = extraIntent('lost', 'CompactTable')
  expect(planLookups({ ...intent, before: 7 })).toEqual([])
  const history = new TableHistory()
  const insert = { ...anIntent('i'), operation: 'InsertIntoTable' } as const
  const { id } = intent
  history.end(history.begin(insert), [{ id, version: 7 }])
  expect(history.getNewestVersion(id, undefined)).toBe(7)
  const read = history.begin(extraIntent('read', 'PrewarmTable'))
  expect(history.end(read, 'unclear')).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBe(7)
  history.end(history.begin(intent), 'unclear')
  expect(history.getNewestVersion(id, undefined)).toBeUndefined()
  // Version 8 may be that of the extra operation, so 9 reveals no change elsewhere.
  expect(history.end(history.begin(insert), [{ id, version: 9 }])).toEqual([])
})
