import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { createDeferred, waitUntilStable } from '../../gateway/support/waiting.ts'
import { runServer } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'
const chunk = Buffer.alloc(64 * 1024, 'a')
const chunks = 512

async function send(response: OutgoingResponse, written: () => void): Promise<void> {
  response.writeHead(200, ['content-length', String(chunks * chunk.length)])
  for (let count = 0; count < chunks; count += 1) {
    written()
    if (!response.write(chunk)) await new Promise<void>((resolve) => response.onDrain.add(resolve))
  }
  response.end()
}

it('buffers no more than the system for a client that does not read, and sends all of it when it reads', async () => {
  let written = 0
  const whole = createDeferred<boolean>()
  const { url } = await runServer((request, response) => {
    response.onClose.add(() => whole.resolve(response.isComplete))
    void send(response, () => {
      written += 1
      expect(request.socket.writableLength).toBeLessThan(4 * chunk.length)
    })
  })
  const connection = openRawConnection(url)
  connection.socket.pause()
  connection.write(get)
  expect(await waitUntilStable(() => written, 100)).toBeLessThan(chunks)
  connection.socket.resume()
  expect(await whole.promise).toBe(true)
  await eventually(() => expect(connection.received()).toMatch(/\r\n\r\na/))
  await eventually(() => {
    const text = connection.received()
    expect(text.length - text.indexOf('\r\n\r\n') - 4).toBe(chunks * chunk.length)
  })
})

it.each([
  ['at once', (response: OutgoingResponse, body: Buffer) => response.end(body)],
  [
    'in a piece',
    (response: OutgoingResponse, body: Buffer) => {
      response.write(body)
      response.end()
    },
  ],
])('a response written %s is incomplete if its client disconnects early', async (_what, give) => {
  const closed = createDeferred<boolean>()
  const body = Buffer.alloc(32 * 1024 * 1024)
  const { url, server } = await runServer((_, response) => {
    response.onClose.add(() => closed.resolve(response.isComplete))
    response.writeHead(200, ['content-length', String(body.length)])
    give(response, body)
  })
  const connection = openRawConnection(url)
  connection.socket.pause()
  connection.write(get)
  await eventually(() => expect(connection.socket.bytesRead).toBeGreaterThan(0))
  connection.socket.resetAndDestroy()
  expect(await closed.promise).toBe(false)
  await eventually(() => expect(server.connectionCount()).toBe(0))
})

it('reports writes after the end of a connection as failed', async () => {
  const found = createDeferred<unknown[]>()
  const { url } = await runServer((request, response) => {
    response.writeHead(200, ['content-length', '3'])
    request.socket.destroy()
    const errors: unknown[] = []
    response.write(Buffer.from('ab'), (error) => errors.push(error instanceof Error))
    response.end('abc')
    response.write(Buffer.from('ab'), (error) => errors.push(error instanceof Error))
    found.resolve([...errors, response.isComplete, response.isDestroyed])
  })
  openRawConnection(url).write(get)
  expect(await found.promise).toEqual([true, true, false, true])
})

it('does not start a pipelined request after an aborted response', async () => {
  const targets: string[] = []
  const { url } = await runServer(({ head }, response) => {
    targets.push(head.target)
    setImmediate(() => response.destroy())
  })
  const connection = openRawConnection(url)
  connection.write(get + get.replace('/', '/ahead'))
  expect(await connection.waitForEnd()).toBe('')
  expect(targets).toEqual(['/'])
})
