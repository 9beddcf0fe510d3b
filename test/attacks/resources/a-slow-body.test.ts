import { expect, it, onTestFinished } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { openRawConnection, type RawConnection } from '../../gateway/support/raw-connection.ts'
import { chunkOf, keyedRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { arrowBytes, arrowStart, arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// A client that sends half of a body, or a byte now and then, holds a connection and its upstream resources.
const bodyTimeoutMs = 400
/**
 * For uploads that must arrive upstream before: they are sent when their intent is on the disk, which may be busy. Less
 * than the timeout of the queue for a connection, in which another request waits for the end of the upload.
 */
const uploadTimeoutMs = 8_000
/** For requests that must not time out. */
const longTimeoutMs = 5 * bodyTimeoutMs
const setup = setupWithTimeout(bodyTimeoutMs)

function setupWithTimeout(ms: number): GatewaySetup {
  return { tuning: { clients: { bodyTimeoutMs: ms }, upstream: { maxBulkConnections: 1 } } }
}

const tooSlow =
  /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"error":"the body of the request did not arrive in time"/

function trickle(connection: RawConnection, bytes: string): void {
  const timer = setInterval(() => connection.write(bytes), bodyTimeoutMs / 8)
  onTestFinished(() => clearInterval(timer))
  connection.socket.once('close', () => clearInterval(timer))
}

it.each([
  ['stops', ''],
  ['trickles', 'x'],
  ['trickles in chunk extensions', '1;a\r\nx\r\n'],
])('a JSON body that %s times out, and nothing is sent upstream', async (_label, bytes) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const connection = openRawConnection(gateway.url)
  const framing: [string[], string] = bytes.includes('\r')
    ? [['transfer-encoding: chunked'], '']
    : [['content-length: 100000'], '{"']
  connection.write(keyedRequest(gateway, 'dev', 'POST /v1/table/o/describe', ...framing))
  if (bytes !== '') trickle(connection, bytes)
  expect(await connection.waitForEnd()).toMatch(tooSlow)
  expect(connection.received()).toContain('connection: close')
  expect(await countRefusals(gateway, 'body_timeout')).toBe(1)
  expect(upstream.requests).toEqual([])
})

it('an upload that stops or trickles is never completed upstream, and releases its connection', async () => {
  // Both wait for the timeout.
  await Promise.all([expectTimeout(''), expectTimeout('1\r\nx\r\n')])
})

async function expectTimeout(bytes: string): Promise<void> {
  const { gateway, upstream } = await startGatewayAndUpstream(setupWithTimeout(uploadTimeoutMs))
  const connection = openRawConnection(gateway.url)
  connection.write(keyedRequest(gateway, 'dev', 'POST /v1/table/o/insert', ['transfer-encoding: chunked']))
  connection.write(chunkOf(arrowBytes(0x4000)))
  if (bytes !== '') trickle(connection, bytes)
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  expect(await gateway.post('/v1/table/o/query', { body: {} })).toMatchObject({ status: 200 })
  expect(await connection.waitForEnd()).toMatch(tooSlow)
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  // An Arrow stream marks its own end: the sent part may have been accepted as complete.
  expect(await gateway.recorded('outcome')).toMatchObject([{ result: 'unknown' }])
  expect(await countRefusals(gateway, 'body_timeout')).toBe(1)
}

it('an upload without its first bytes takes no upstream connection and leaves no record', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const connection = openRawConnection(gateway.url)
  connection.write(keyedRequest(gateway, 'dev', 'POST /v1/table/o/insert', ['content-length: 100000']))
  connection.write(arrowUpload.subarray(0, 40))
  trickle(connection, 'x')
  expect(await connection.waitForEnd()).toMatch(tooSlow)
  expect(upstream.requests).toEqual([])
  expect(await gateway.recorded('intent')).toEqual([])
})

it('time in which the upstream does not read does not count against the client', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setupWithTimeout(longTimeoutMs))
  const goOn = createDeferred<() => void>()
  upstream.handler = (_arrival, response, request) => {
    request.pause()
    request.once('end', () => response.end('{}'))
    goOn.resolve(() => request.resume())
  }
  const response = gateway.post('/v1/table/o/insert', { body: arrowBytes(32 * 1024 * 1024) })
  const resume = await goOn.promise
  await new Promise((resolve) => setTimeout(resolve, 1.5 * longTimeoutMs))
  resume()
  expect(await response).toMatchObject({ status: 200 })
})

it('a body at the minimum rate may take longer than the timeout of one pause', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setupWithTimeout(longTimeoutMs))
  const connection = openRawConnection(gateway.url)
  const chunks = 12
  const chunk = Buffer.alloc(64 * 1024, 'a')
  connection.write(
    keyedRequest(gateway, 'dev', 'POST /v1/table/o/insert', [
      `content-length: ${arrowStart.length + chunks * chunk.length}`,
      'connection: close',
    ]),
  )
  connection.write(arrowStart)
  for (let sent = 0; sent < chunks; sent += 1) {
    await new Promise((resolve) => setTimeout(resolve, longTimeoutMs / 8))
    connection.write(chunk)
  }
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 200 OK/)
  expect(await upstream.requests[0]?.body).toHaveLength(arrowStart.length + chunks * chunk.length)
})
