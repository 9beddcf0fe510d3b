import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayBefore, useSharedGateway } from '../support/running-gateway.ts'
import { arrowStart } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()
const insert = '/v1/table/orders/insert'
const tooLarge = { 'content-type': 'text/plain', 'content-length': 9 }

/** Never ends by itself: the sender must wait for a response. */
function endless(): Readable {
  let next = arrowStart
  return new Readable({
    highWaterMark: 64 * 1024,
    read() {
      this.push(next)
      next = Buffer.alloc(64 * 1024)
    },
  })
}

/** The ways in which an upstream can stop reading without closing the connection. */
const polite: [what: string, RequestHandler][] = [
  [
    'reads no further',
    (_arrival, response, request) => {
      request.pause()
      response.writeHead(413, tooLarge).end('too large')
    },
  ],
  ['reads on', (_arrival, response) => response.writeHead(413, tooLarge).end('too large')],
]

it.each(polite)(
  'forwards the response of an upstream that responds during an upload and %s',
  async (_what, handler) => {
    const { gateway, upstream } = shared
    for (let count = 0; count < 3; count += 1) {
      upstream.handler = handler
      const body = endless()
      expectError(await gateway.post(insert, { body }), { kind: 'InvalidInput', status: 413, says: '413' })
      body.destroy()
      upstream.handler = respondWith(200, {})
      expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    }
  },
)

it('forwards the response of an upstream that responds during an upload and resets the connection', async () => {
  const gateway = await startGatewayBefore(await resettingUpstream())
  for (let count = 0; count < 50; count += 1) {
    const body = endless()
    expectError(await gateway.post(insert, { body }), { kind: 'InvalidInput', status: 413, says: '413' })
    body.destroy()
  }
})

/** Responds and closes the connection with unread data: the kernel sends a reset. */
async function resettingUpstream(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      const text = chunk.toString('latin1')
      const response = text.startsWith('GET') ? 'HTTP/1.1 204 No Content' : 'HTTP/1.1 413 Content Too Large'
      socket.pause()
      socket.write(`${response}\r\nconnection: close\r\n\r\n`, () => socket.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
