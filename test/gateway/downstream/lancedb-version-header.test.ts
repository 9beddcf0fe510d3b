import { expect, it } from 'vitest'
import { limitLancedbServerVersion } from '../../../src/catalog-api/headers.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

// A client takes the version of its server from the first response, errors included, and uses old requests for an old
// one.
const shared = useSharedGateway({ users: ['nobody'] })
const lancedb = { 'x-lancedb-database': 'any' }
const describeTable = '/v1/table/t/describe'

it.each([
  [200, 'POST', describeTable, {}],
  [200, 'GET', '/v1/namespace/$/table/list', {}],
  [400, 'POST', describeTable, { headers: { 'x-catalog-ctx-gateway': 'x' } }],
  [401, 'POST', describeTable, { as: null }],
  [403, 'POST', describeTable, { as: 'nobody' }],
  [406, 'POST', '/v1/nothing', {}],
] as const)('a response %i to %s %s %j', async (status, method, target, parts) => {
  const { gateway, upstream } = shared
  upstream.answering = respondWith(200, { tables: [] })
  const plain = await gateway.send(method, target, parts)
  expect(plain.status).toBe(status)
  expect(plain.headers).not.toHaveProperty('phalanx-version')
  const headers = { ...('headers' in parts && parts.headers), ...lancedb }
  const response = await gateway.send(method, target, { ...parts, headers })
  expect(response).toMatchObject({ status, headers: { 'phalanx-version': '0.3.0' } })
})

const changeTable = '/v1/table/t/drop'
/** The catalog has not said what became of a change. */
const statusOf = (target: string, status: number): number =>
  target === changeTable && status >= 500 ? 424 : status

it.each([404, 503])('an error %i of the upstream', async (status) => {
  const { gateway, upstream } = shared
  upstream.answering = respondWith(status, {})
  for (const target of [describeTable, changeTable]) {
    const response = await gateway.post(target, { headers: lancedb })
    expect(response).toMatchObject({
      status: statusOf(target, status),
      headers: { 'phalanx-version': '0.3.0' },
    })
  }
})

// 0.6 is the newest version that clients know. 0.3 is the version of an upstream that states none.
it.each([
  ['0.1.0', '0.1.0'],
  ['0.3.0-beta.1', '0.3.0-beta.1'],
  ['0.5.0-beta.1+build', '0.5.0-beta.1+build'],
  ['0.6.0', '0.6.0'],
  ['0.6.1', '0.6.0'],
  ['0.10.0', '0.6.0'],
  ['1.0.0', '0.6.0'],
  ['0.2', '0.3.0'],
  ['', '0.3.0'],
  ['newest', '0.3.0'],
] as const)('the version %j of the upstream becomes %j', (stated, announced) => {
  expect(limitLancedbServerVersion(stated)).toBe(announced)
})

it.each([200, 404, 503])('a response %i of an upstream that states a newer version', async (status) => {
  const { gateway, upstream } = shared
  upstream.answering = respondWith(status, {}, { 'phalanx-version': '0.6.1' })
  for (const target of [describeTable, changeTable]) {
    const response = await gateway.post(target, { headers: lancedb })
    expect(response).toMatchObject({
      status: statusOf(target, status),
      headers: { 'phalanx-version': '0.6.0' },
    })
  }
})

it('too many headers', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const headers = {
    ...lancedb,
    ...Object.fromEntries(Array.from({ length: 128 }, (_, index) => [`x-${index}`, ''])),
  }
  const response = await gateway.post(describeTable, { headers })
  expect(response).toMatchObject({ status: 431, headers: { 'phalanx-version': '0.3.0' } })
})
