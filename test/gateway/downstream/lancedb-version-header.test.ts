import { expect, it } from 'vitest'
import { limitLancedbServerVersion } from '../../../src/catalog-api/headers.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { rawRequest } from '../support/raw-request.ts'
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
  upstream.handler = respondWith(200, { tables: [] })
  const plain = await gateway.send(method, target, parts)
  expect(plain.status).toBe(status)
  expect(plain.headers).not.toHaveProperty('phalanx-version')
  const headers = { ...('headers' in parts && parts.headers), ...lancedb }
  const response = await gateway.send(method, target, { ...parts, headers })
  expect(response).toMatchObject({ status, headers: { 'phalanx-version': '0.3.0' } })
})

const changeTable = '/v1/table/t/drop'
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

it.each([
  [200, 'a newer version', { 'phalanx-version': '0.6.1' }, '0.6.0'],
  [404, 'a newer version', { 'phalanx-version': '0.6.1' }, '0.6.0'],
  [503, 'a newer version', { 'phalanx-version': '0.6.1' }, '0.6.0'],
  [404, 'no version', {}, '0.3.0'],
  [503, 'no version', {}, '0.3.0'],
])('a response %i of an upstream that states %s', async (status, _what, stated, announced) => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(status, {}, stated)
  for (const target of [describeTable, changeTable]) {
    const response = await gateway.post(target, { headers: lancedb })
    // The catalog has not said what became of a change.
    const expected = target === changeTable && status >= 500 ? 424 : status
    expect(response).toMatchObject({ status: expected, headers: { 'phalanx-version': announced } })
  }
})

it('accepts 128 headers, and rejects 129', async () => {
  const { gateway } = await startGatewayAndUpstream()
  for (const [count, status] of [
    [128, 200],
    [129, 431],
  ] as const) {
    const connection = openRawConnection(gateway.url)
    const lines = [
      'host: g',
      `x-api-key: ${gateway.key('dev')}`,
      'content-length: 0',
      'x-lancedb-database: any',
    ]
    while (lines.length < count) lines.push(`x-${lines.length}: 1`)
    connection.write(rawRequest([`POST ${describeTable} HTTP/1.1`, ...lines]))
    const head = await connection.waitFor(/\r\n\r\n/)
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*phalanx-version: 0\\.3\\.0\r\n`))
  }
})
