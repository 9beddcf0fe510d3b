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
  gateway.upstream.handler = respondWith(503, '')
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
  const always = 'level time requestId client principal authentication operation id decision'
  const ended = 'status bytesIn bytesOut durationMs stageMs complete'
  expect(lines.slice(0, 3).map((line) => Object.keys(line).join(' '))).toEqual([
    `${always} policy rule policyRevision upstream ${ended} msg`,
    `${always} policy rule policyRevision upstream ${ended} msg`,
    `${always} groups groupsOmitted policyRevision ${ended} stage reason error msg`,
  ])
  // A head of some hundred bytes and the body; the response is similarly short.
  expect(read['bytesIn']).toBeGreaterThan(150)
  expect(read['bytesIn']).toBeLessThan(1_000)
  expect(read['bytesOut']).toBeGreaterThan(50)
  expect(read['bytesOut']).toBeLessThan(1_000)
  const spent = Object.values(change['stageMs'] as Record<string, number>).reduce(
    (sum, each) => sum + each,
    0,
  )
  expect(spent).toBeCloseTo(change['durationMs'] as number, 1)
  expect(lines.every((line) => !('traceId' in line))).toBe(true)
})
