import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError, expectUnknownOutcome } from '../support/expect-error.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'

// A killed process closes its connections like one that has finished: if nothing else marks the end of a response, a
// partial one looks complete.
const read = '/v1/table/orders/describe'
const rows = '/v1/table/orders/query'
const change = '/v1/table/orders/drop'
const failed = {
  kind: 'ServiceUnavailable',
  status: 502,
  says: 'the catalog sent an invalid response: the response has neither a content-length nor chunks',
} as const

it.each([
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{"location":"s3://a"}'],
  ['of HTTP/1.1', 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"location":"s3://a"}'],
])('rejects a response %s without length or chunks', async (_what, bytes) => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = (_arrival, response) => response.socket?.end(bytes)
  for (const target of [read, rows]) expectError(await gateway.post(target, { body: {} }), failed)
  expectUnknownOutcome(await gateway.post(change), failed.says)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'unknown', details: { reason: 'BAD_RESPONSE' } }])
})

it('accepts the status of an error without length or chunks', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = (_arrival, response) =>
    response.socket?.end('HTTP/1.0 404 Not Found\r\n\r\n{"error":"no such table","code":4}')
  expectError(await gateway.post(read), { kind: 'TableNotFound', says: 'no such table' })
})

it('a client of HTTP/1.0 gets an error for a truncated response, too', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const broken = createDeferred()
  upstream.answering = async (_arrival, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).write('ARROW')
    await broken.promise
    response.socket?.destroy()
  }
  const client = openRawConnection(gateway.url)
  let error: NodeJS.ErrnoException | undefined
  client.socket.on('error', (cause) => (error = cause))
  client.write(`POST ${rows} HTTP/1.0\r\nx-api-key: ${gateway.key('dev')}\r\ncontent-length: 2\r\n\r\n{}`)
  await client.waitFor(/\r\n\r\nARROW$/)
  broken.resolve(undefined)
  await client.waitForEnd()
  // The body ends with the connection: only a reset shows that it is incomplete.
  expect(error?.code).toBe('ECONNRESET')
})
