import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { keyedRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { eventually } from '../../support/eventually.ts'

// The gateway reads and discards the rest of a refused upload, so that the client gets the refusal. A caller that may do
// nothing must not occupy the gateway in this way.
const attacked = attackedGateway()
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'
const megabyte = Buffer.alloc(1024 * 1024)

interface Upload {
  readonly socket: Socket
  readonly received: () => string
  readonly isClosed: () => boolean
}

/** Starts an upload and resolves when it has been refused. */
async function startRefused(
  as: string,
  status: number,
  { path = '/v1/table/production/insert', gateway = attacked.gateway } = {},
): Promise<Upload> {
  const { port } = new URL(gateway.url)
  const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let text = ''
  let isClosed = false
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => undefined).on('close', () => (isClosed = true))
  socket.write(
    keyedRequest(gateway, as, `POST ${path}`, [
      'content-type: application/vnd.apache.arrow.stream',
      'content-length: 1000000000',
    ]),
  )
  await eventually(() => expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*"instance":"[^"]+"}$`)))
  return { socket, received: () => text, isClosed: () => isClosed }
}

/** Uploads until the connection is closed. Returns the number of megabytes that the gateway has read or buffered. */
async function uploadUntilClosed({ socket, isClosed }: Upload): Promise<number> {
  let count = 0
  const closed = new Promise<false>((resolve) => socket.once('close', () => resolve(false)))
  const write = () => new Promise<boolean>((resolve) => socket.write(megabyte, (error) => resolve(!error)))
  while (!isClosed() && (await Promise.race([write(), closed]))) count += 1
  return count
}

it('an endless upload after its refusal is cut', async () => {
  const megabytes = await uploadUntilClosed(await startRefused('writer', 403))
  const max = 64
  expect(megabytes).toBeGreaterThanOrEqual(max)
  // The system buffers some more.
  expect(megabytes).toBeLessThan(max + 16)
})

it.each([
  [401, '/v1/table/production/insert'],
  [406, '/v1/unknown'],
])('an upload is never drained before authentication, after %i', async (status, path) => {
  expect(await uploadUntilClosed(await startRefused('guessed', status, { path }))).toBeLessThan(16)
})

it('a drained upload is not parsed', async () => {
  const upload = await startRefused('writer', 403)
  const before = upload.received()
  upload.socket.end(smuggled.repeat(5_000))
  await eventually(() => expect(upload.isClosed()).toBe(true))
  expect(upload.received()).toBe(before)
  expect(attacked.upstream.requests).toEqual([])
})

it('a drained upload counts as a connection, and makes room for a new one', async () => {
  const { gateway } = await startGatewayAndUpstream({
    users: ['writer'],
    settings: { limits: { maxConnections: 2 } },
  })
  const uploads: Upload[] = []
  for (let count = 0; count < 3; count += 1) uploads.push(await startRefused('writer', 403, { gateway }))
  for (const { socket } of uploads) socket.write(megabyte)
  await eventually(() => expect(uploads.map(({ isClosed }) => isClosed())).toEqual([true, false, false]))
})
