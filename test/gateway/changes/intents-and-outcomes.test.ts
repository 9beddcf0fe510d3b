import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const commit = '/v1/table/sales$orders/version/create'
const manifest = { version: 7, manifest_path: 'sales/orders/_versions/staging', e_tag: 'x' }

/** The kinds of the records that are on disk, with their request ids. */
function onDisk(folder: string): string[] {
  const [segment = ''] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const lines = readFileSync(join(folder, segment), 'utf8').split('\n').slice(0, -1)
  const records = lines.map((line) => JSON.parse(line) as AuditRecord)
  return withoutSeals(records).map((record) =>
    'request' in record ? `${record.kind} ${record.request}` : record.kind,
  )
}

function withoutSeals(records: readonly AuditRecord[]): AuditRecord[] {
  return records.filter(({ kind }) => kind !== 'seal')
}

it('writes the intent of a change before it is sent, and its outcome before the response', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  let seen: string[] = []
  upstream.handler = (arrival, response, request) => {
    seen = onDisk(gateway.auditFolder)
    return respondWith(200, { version: { version: 7 } })(arrival, response, request)
  }
  const headers = { 'x-request-id': 'r1' }
  expect(await gateway.post(commit, { body: manifest, headers })).toMatchObject({ status: 200 })
  expect(seen).toEqual(['start', 'intent r1'])
  expect(onDisk(gateway.auditFolder)).toEqual(['start', 'intent r1', 'outcome r1'])

  const [intent] = await gateway.recorded('intent')
  expect(intent).toMatchObject({
    operation: 'CreateTableVersion',
    id: ['sales', 'orders'],
    effect: 'commit',
    principal: { name: 'dev', method: 'api-key', credentialId: 'static' },
    rule: { policy: 'everything', rule: 'all', file: 'policies.yaml' },
    client: '127.0.0.1',
    upstream: 'catalog',
    facts: 1,
    details: manifest,
  })
  expect(await gateway.recorded('outcome')).toMatchObject([
    { intentSeq: intent?.seq, result: 'committed', status: 200, version: 7 },
  ])
  expect(await verifyAuditLog(gateway.auditFolder)).toMatchObject({ ok: true, unresolved: 0 })
})

it('writes the intent of an upload before its first byte is sent', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  let seen: string[] = []
  upstream.handler = (_arrival, response) => {
    seen = onDisk(gateway.auditFolder)
    response.end('{}')
  }
  const headers = { 'x-request-id': 'r2' }
  await gateway.post('/v1/table/orders/insert?branch=b', { body: arrowUpload, headers })
  expect(seen).toEqual(['start', 'intent r2'])
  const [intent] = await gateway.recorded('intent')
  expect(intent).toMatchObject({ operation: 'InsertIntoTable', details: { branch: 'b' } })
})

it.each<[status: number, body: object, outcome: { result: string; version?: number }]>([
  [200, { version: 3 }, { result: 'committed', version: 3 }],
  [202, { job_id: 'j' }, { result: 'committed' }],
  [409, { error: 'taken', code: 14 }, { result: 'rejected' }],
  [500, {}, { result: 'unknown' }],
  [501, {}, { result: 'rejected' }],
  [503, {}, { result: 'unknown' }],
])('a change with the response %i %j has the outcome %j', async (status, body, outcome) => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = respondWith(status, body)
  await gateway.post(commit, { body: manifest })
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toMatchObject([{ status, ...outcome }])
  expect(outcomes[0]?.version).toBe(outcome.version)
})

it('a change without a response is unknown; one that was not sent has failed', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = (_arrival, response) => response.socket?.destroy()
  await gateway.post(commit, { body: manifest })
  await upstream.close()
  await gateway.post(commit, { body: manifest })
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes.map(({ result, status }) => ({ result, status }))).toEqual([
    { result: 'unknown', status: undefined },
    { result: 'failed', status: undefined },
  ])
})
