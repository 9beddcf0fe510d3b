import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { sendRaw } from '../../gateway/support/raw-request.ts'
import { linesOf, manyGroups, servingGateway, type LogLine } from '../serving-gateway.ts'

const json = { 'content-type': 'application/json' }

it('each request has a line, including refusals, and none is lost on shutdown', async () => {
  const gateway = await servingGateway({})
  const allowed = await gateway.post('/v1/table/sales$orders/describe', {
    headers: { ...json, 'x-request-id': 'mine' },
    body: '{"id":["sales","orders"]}',
  })
  expect(allowed.status).toBe(200)
  await gateway.post('/v1/table/orders/drop')
  await gateway.post('/v1/table/orders/describe', { as: 'nobody' })
  await gateway.post('/v1/table/orders/describe', { as: null })
  await gateway.post('/v1/table/orders/describe', { headers: json, body: '{"id":["other"]}' })
  await gateway.post('/v1/nothing')
  gateway.upstream.answering = respondWith(503, '')
  await gateway.post('/v1/table/orders/exists')
  await sendRaw(gateway.url, 'nonsense\r\n\r\n')

  const lines = linesOf(await gateway.stop()).filter(({ msg }) =>
    ['request completed', 'connection refused'].includes(String(msg)),
  )
  const rule = { policy: 'everything', rule: 'all', policyRevision: expect.stringMatching(/./) }
  const dev = { principal: 'dev', authentication: 'api-key', client: '127.0.0.1' }
  expect(lines).toMatchObject([
    {
      ...dev,
      ...rule,
      level: 30,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: 'request completed',
      requestId: 'mine',
      operation: 'DescribeTable',
      id: ['sales', 'orders'],
      decision: 'allow',
      upstream: 'catalog',
      status: 200,
      complete: true,
      bytesIn: expect.any(Number),
      bytesOut: expect.any(Number),
    },
    { ...dev, ...rule, operation: 'DropTable', decision: 'allow', status: 200 },
    {
      principal: 'nobody',
      groups: manyGroups.toSorted().slice(0, 32),
      groupsOmitted: 8,
      decision: 'deny',
      status: 403,
      stage: 'authorize',
      reason: 'no_rule',
      policyRevision: rule.policyRevision,
    },
    { decision: 'none', status: 401, stage: 'authenticate', reason: 'missing_credential' },
    {
      ...dev,
      decision: 'none',
      status: 400,
      stage: 'read_body',
      reason: 'conflicting_values',
      error: expect.any(String),
    },
    { operation: 'unknown', status: 406, stage: 'match' },
    { level: 40, operation: 'TableExists', decision: 'allow', status: 503 },
    { stage: 'receive', reason: 'malformed_request', client: '127.0.0.1' },
  ])
  const [read, change] = lines as [LogLine, LogLine]
  expect(read).not.toHaveProperty('groups')
  // A head of some hundred bytes and the body; the response is similarly short.
  expect(read['bytesIn']).toBeGreaterThan(150)
  expect(read['bytesIn']).toBeLessThan(1_000)
  expect(read['bytesOut']).toBeGreaterThan(50)
  expect(read['bytesOut']).toBeLessThan(1_000)
  expect(Object.keys(read['stageMs'] as object)).toEqual([
    'receive',
    'match',
    'authenticate',
    'authorize',
    'limit',
    'read_body',
    'authorize_body',
    'place',
    'limit_entries',
    'audit',
    'send',
    'record',
    'respond',
  ])
  const spent = Object.values(change['stageMs'] as Record<string, number>).reduce(
    (sum, each) => sum + each,
    0,
  )
  expect(spent).toBeCloseTo(change['durationMs'] as number, 1)
  expect(lines.every((line) => !('traceId' in line) && !('sampleRate' in line))).toBe(true)
})

it('successful reads are sampled at the configured ratio; changes, refusals and failures are all logged', async () => {
  const gateway = await servingGateway({
    log: { sample: { success: 0.5 } },
    traces: { endpoint: 'http://127.0.0.1:9/' },
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-00` }
  for (let sent = 0; sent < 200; sent += 1) await gateway.post('/v1/table/orders/exists', { headers })
  for (let sent = 0; sent < 5; sent += 1) {
    await gateway.post('/v1/table/orders/drop')
    await gateway.post('/v1/table/orders/exists', { as: 'nobody' })
  }
  gateway.upstream.answering = respondWith(404, { code: 4, error: 'there is no such table' })
  for (let sent = 0; sent < 5; sent += 1) await gateway.post('/v1/table/orders/exists')

  const lines = linesOf(await gateway.stop()).filter(({ msg }) => msg === 'request completed')
  const sampled = lines.filter(({ status, operation }) => status === 200 && operation === 'TableExists')
  // Seven standard deviations to each side.
  expect(sampled.length).toBeGreaterThan(50)
  expect(sampled.length).toBeLessThan(150)
  expect(sampled).toEqual(sampled.map(() => expect.objectContaining({ sampleRate: 0.5, traceId })))
  const rest = lines.filter((line) => !sampled.includes(line))
  const counted = (status: number): number => rest.filter((line) => line['status'] === status).length
  expect([counted(200), counted(403), counted(404), rest.length]).toEqual([5, 5, 5, 15])
  expect(rest.every((line) => !('sampleRate' in line))).toBe(true)
})
