import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { formatRecord } from '../../../src/audit/formats/format-record.ts'
import { createContextTracker } from '../../../src/audit/formats/record-context.ts'
import { formatRecordId, type DeliveredRecord } from '../../../src/audit/formats/delivered-record.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { readAuditLog, type StoredRecord } from '../../../src/audit/storage/read-audit-log.ts'
import { operations, type OperationName } from '../../../src/catalog-api/operations.ts'
import { aRefusal, anIntent, committed, logOptions } from '../audit-fixtures.ts'
import { linesInLog } from '../sinks/log-with-sinks.ts'

/** Writes a log with every kind of record of normal operation, and one record of each operation. */
async function writeLog(folder: string): Promise<void> {
  const log = await openAuditLog(logOptions(folder))
  log.recordRefusal(aRefusal('refused', { needs: [] }))
  log.recordReload({ what: 'policies', revision: 'r2' })
  for (const operation of Object.keys(operations) as OperationName[]) {
    const receipt = await log.recordIntent({ ...anIntent(operation), operation })
    await log.recordOutcome(receipt, committed)
  }
  const granted = anIntent('granted')
  const grant = { until: '2026-01-31T10:00:00Z', approvedBy: 'ada, INC-42' }
  await log.recordOutcome(
    await log.recordIntent({ ...granted, rule: { ...granted.rule, ...grant } }),
    committed,
  )
  const lost = await log.recordIntent(anIntent('lost', { mode: 'ü "quoted"', '7': 1, e_tag: null }))
  await log.recordOutcome(lost, { result: 'unknown', durationMs: 1.5, details: { reason: 'timeout' } })
  await log.close()
}

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'formats-'))
  await writeLog(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function formatted(format: 'json' | 'ocsf' | 'cloudevents') {
  const tracker = createContextTracker()
  const found: { record: StoredRecord; text: string }[] = []
  for await (const record of readAuditLog(folder)) {
    found.push({ record, text: formatRecord(record, format, tracker.track(record)) })
  }
  return found
}

interface OcsfEvent {
  readonly [attribute: string]: unknown
  readonly activity_id: number
  readonly metadata: { readonly uid: string }
  readonly raw_data: string
}

it('formats json as the exact line of the log', async () => {
  expect((await formatted('json')).map(({ text }) => text)).toEqual(await linesInLog(folder))
})

it('formats cloudevents with the required attributes and the record as data', async () => {
  const ids = new Set<string>()
  for (const { record, text } of await formatted('cloudevents')) {
    const { id, source, type, subject, time, data, ...rest } = JSON.parse(text) as Record<string, unknown>
    expect(rest).toEqual({ specversion: '1.0', datacontenttype: 'application/json' })
    expect({ id, source, time }).toEqual({
      id: formatRecordId(record),
      source: '/catalog-gateway/gateway-0',
      time: record.time,
    })
    expect(type).toBe(`catalog-gateway.audit.${record.kind}.v1`)
    const isOfRequest = ['intent', 'outcome', 'refusal'].includes(record.kind)
    expect(subject).toBe(isOfRequest ? 'production/orders' : undefined)
    expect(data).toEqual(record)
    ids.add(String(id))
  }
  expect(ids.size).toBe((await linesInLog(folder)).length)
})

it('formats ocsf records of every kind as required by class API Activity of version 1.6.0', async () => {
  const kinds = new Set<string>()
  for (const { record, text } of await formatted('ocsf')) {
    kinds.add(record.kind)
    const event = JSON.parse(text) as OcsfEvent
    expect(event).toMatchObject({
      category_uid: 6,
      class_uid: 6003,
      type_uid: 600_300 + event.activity_id,
      time: Date.parse(record.time),
      metadata: {
        version: '1.6.0',
        profiles: ['security_control'],
        product: { name: 'catalog-gateway', vendor_name: expect.any(String), version: '0.1.0' },
        uid: formatRecordId(record),
      },
      api: { operation: expect.any(String) },
    })
    expect([1, 2, 3, 4, 99]).toContain(event.activity_id)
    expect([1, 2, 3, 4]).toContain(event['severity_id'])
    // The schema requires at least one of the identifying attributes in these objects.
    expect(event['actor']).toSatisfy((actor: object) => 'user' in actor || 'app_name' in actor)
    expect(event['src_endpoint']).toSatisfy((endpoint: object) => 'ip' in endpoint || 'svc_name' in endpoint)
    expect(JSON.parse(event.raw_data)).toEqual(record)
  }
  expect([...kinds]).toEqual(
    expect.arrayContaining(['start', 'intent', 'outcome', 'refusal', 'reload', 'seal']),
  )
})

const caller = {
  actor: {
    user: { name: 'corp:alice', uid: 'corp:alice' },
    session: { uid: '0123456789abcdef', issuer: 'corp' },
  },
  src_endpoint: { ip: '10.0.0.1' },
}

it('ocsf describes a grant by its end and its approval, and other rules not', async () => {
  const policies = (await formatted('ocsf')).flatMap(({ record, text }) => {
    const { policy } = JSON.parse(text) as { policy?: { desc?: string } }
    return record.kind === 'intent' && policy ? [[record.request, policy.desc]] : []
  })
  const descriptions = new Map(policies as [string, string | undefined][])
  expect(descriptions.get('granted')).toBe('until 2026-01-31T10:00:00Z, approved by ada, INC-42')
  expect(descriptions.get('lost')).toBeUndefined()
})

it.each([
  ['an intent', 'CreateTable', 'intent', { activity_id: 1, status_id: 99, status: 'Intended', action_id: 1 }],
  ['an outcome', 'CreateTable', 'outcome', { activity_id: 1, status_id: 1, status_code: '200', duration: 3 }],
  ['an update', 'UpdateTable', 'outcome', { activity_id: 3, status_id: 1 }],
  ['a removal', 'DropTable', 'outcome', { activity_id: 4, status_id: 1 }],
  ['a read', 'QueryTable', 'intent', { activity_id: 2 }],
  ['a lost answer', 'lost', 'outcome', { activity_id: 3, status_id: 0, severity_id: 3 }],
  ['a refusal', 'refused', 'refusal', { status_id: 2, action_id: 2, disposition_id: 2, severity_id: 2 }],
])('ocsf contains principal, operation, table and result of %s', async (_, request, kind, expected) => {
  const events = await formatted('ocsf')
  const found = events.find(
    ({ record }) => record.kind === kind && 'request' in record && record.request === request,
  )
  expect(JSON.parse(found?.text ?? '')).toMatchObject({
    ...caller,
    ...expected,
    metadata: { correlation_uid: request },
    resources: [
      { type: 'table', name: 'orders', namespace: 'production', data: { id: ['production', 'orders'] } },
    ],
  })
})

it('ocsf omits a pseudonymized address', () => {
  const { client, ...rest } = aRefusal('refused')
  const head = { v: 1, kind: 'refusal', chain: 'c', seq: 1, time: '2026-01-01T00:00:00.000Z' } as const
  const event = (from: string): unknown => {
    const record = { ...head, prev: '', hash: '', ...rest, client: from } as StoredRecord
    return JSON.parse(formatRecord(record, 'ocsf', createContextTracker().track(record)))
  }
  expect(event(client)).toMatchObject({ src_endpoint: { ip: client } })
  expect(event('a-0123')).toMatchObject({ src_endpoint: { uid: 'a-0123' } })
})

const recordHead = {
  v: 1,
  chain: 'c',
  seq: 9,
  time: '2026-01-01T00:00:00.000Z',
  prev: '00',
  hash: '11',
} as const
const end = { chain: 'b', seq: 4, hash: '22' }
const tables = [{ id: ['production', 'orders'], prev: '33' }]
const ofIntent = { request: 'asked', intentSeq: 1, intentChain: 'c', tables }
const made = [{ id: ['production', 'orders'], version: 8 }]
const versions7And8 = [{ id: ['production', 'orders'], from: 7, to: 8 }]
const reported = { ...ofIntent, evidence: 'seen', lookups: 1 }
const quiet = { activity_id: 99, severity_id: 1, actor: { app_name: 'catalog-gateway' } }
const alarm = { ...quiet, severity_id: 4 }
const change = { activity_id: 3, resources: [{ type: 'table', data: { id: ['production', 'orders'] } }] }

/** A record of each kind and its expected event; a missing kind is a compile error. */
const events: {
  readonly [Kind in DeliveredRecord['kind']]: readonly [
    body: Omit<Extract<DeliveredRecord, { kind: Kind }>, keyof typeof recordHead | 'kind'>,
    event: object,
  ][]
} = {
  start: [[{ gateway: 'g', software: '1', heads: [] }, quiet]],
  segment: [[{ unresolved: [], heads: [] }, quiet]],
  seal: [[{ leaves: 1, root: '00', within: 9, key: 'k' }, quiet]],
  pruned: [[{ through: end, files: ['f'] }, quiet]],
  reload: [[{ what: 'policies', revision: 'r' }, quiet]],
  passThrough: [
    [
      {
        request: 'passed',
        prefix: '/ui',
        method: 'POST',
        path: '/console/jobs',
        principal: { name: 'corp:alice', method: 'token', credentialId: 'c1', groups: ['corp:a', 'corp:b'] },
        client: '10.0.0.1',
      },
      {
        activity_id: 99,
        status_id: 99,
        action_id: 1,
        actor: { user: { name: 'corp:alice', groups: [{ name: 'corp:a' }, { name: 'corp:b' }] } },
      },
    ],
  ],
  comparison: [
    [
      {
        upstream: 'lake',
        id: ['production', 'orders'],
        before: 6,
        version: 8,
        outOfBand: versions7And8,
        tables,
      },
      {
        ...alarm,
        api: { operation: 'comparison' },
        dst_endpoint: { svc_name: 'lake' },
        resources: [{ type: 'table', data: { id: ['production', 'orders'] }, version: '8' }],
      },
    ],
    [
      { upstream: 'lake', id: ['production', 'orders'], before: 6, version: 2, tables },
      { ...alarm, resources: [{ version: '2' }] },
    ],
  ],
  tampered: [[{ file: 'f', what: 'removed', restored: true }, alarm]],
  recovered: [[{ file: 'f', bytesCut: 3 }, alarm]],
  gap: [[{ dropped: 1, refused: 0, since: recordHead.time, until: recordHead.time }, alarm]],
  undelivered: [[{ before: { chain: 'c', seq: 9 } }, alarm]],
  refusal: [[aRefusal('asked'), { ...change, status_id: 2, action_id: 2, severity_id: 2 }]],
  intent: [
    [
      { ...anIntent('asked'), tables },
      { ...change, status_id: 99, severity_id: 1 },
    ],
  ],
  outcome: [
    [
      { ...ofIntent, result: 'committed', status: 200, version: 8 },
      { ...change, status_id: 1, severity_id: 1, resources: [{ version: '8' }] },
    ],
    [
      { ...ofIntent, result: 'rejected', status: 409 },
      { ...change, status_id: 2, status_code: '409' },
    ],
    [
      { ...ofIntent, result: 'failed' },
      { ...change, status_id: 2, status_detail: 'failed' },
    ],
    [
      { ...ofIntent, result: 'unknown' },
      { ...change, status_id: 0, severity_id: 3 },
    ],
  ],
  resolved: [
    [
      { ...reported, result: 'committed', versions: made },
      { ...change, status_id: 1, severity_id: 1, resources: [{ version: '8' }] },
    ],
    [
      { ...reported, result: 'not_committed' },
      { ...change, status_id: 2, severity_id: 1 },
    ],
    [
      { ...reported, result: 'taken', versions: made },
      { ...change, status_id: 2, status_detail: 'taken' },
    ],
    [
      { ...reported, result: 'undecided' },
      { ...change, status_id: 0, severity_id: 3 },
    ],
    [
      { ...reported, result: 'committed', outOfBand: [{ id: ['production', 'orders'], from: 6, to: 7 }] },
      { ...change, status_id: 1, severity_id: 4 },
    ],
  ],
}

it.each(
  Object.entries(events).flatMap(([kind, cases]) =>
    cases.map(([body, event]) => [kind, 'result' in body ? body.result : '', body, event] as const),
  ),
)('formats a record of kind %s %s', (kind, _, body, event) => {
  const record = { ...recordHead, kind, ...body } as unknown as DeliveredRecord
  const tracker = createContextTracker({ gateway: 'g', software: '1' })
  tracker.track({ ...recordHead, seq: 1, kind: 'intent', ...anIntent('asked') })
  const context = tracker.track(record)
  const ocsf: unknown = JSON.parse(formatRecord(record, 'ocsf', context))
  expect(ocsf).toMatchObject(event)
  expect(ocsf).toMatchObject({ message: kind, raw_data: JSON.stringify(record) })
  const isOfTable = 'resources' in event
  expect(JSON.parse(formatRecord(record, 'cloudevents', context))).toMatchObject({
    type: `catalog-gateway.audit.${kind}.v1`,
    ...(isOfTable && { subject: 'production/orders' }),
    data: record,
  })
  expect(formatRecord(record, 'json', context)).toBe(JSON.stringify(record))
})
