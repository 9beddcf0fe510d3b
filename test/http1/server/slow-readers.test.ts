import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRaw } from '../../gateway/raw-connection.ts'
import { deferred, eventually, standstill } from '../../gateway/waiting.ts'
import { runServer } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'
const piece = Buffer.alloc(64 * 1024, 'a')
const pieces = 512

/** Writes as much as is taken, and goes on when more is. */
async function send(answer: OutgoingResponse, written: () => void): Promise<void> {
  answer.writeHead(200, ['content-length', String(pieces * piece.length)])
  for (let count = 0; count < pieces; count += 1) {
    written()
    if (!answer.write(piece)) await new Promise<void>((resolve) => answer.onDrain.add(resolve))
  }
  answer.end()
}

it('a client that reads nothing is sent no more than the system holds, and all of it when it reads on', async () => {
  let written = 0
  const whole = deferred<boolean>()
  const { url } = await runServer((request, answer) => {
    answer.onClose.add(() => whole.resolve(answer.isComplete))
    void send(answer, () => {
      written += 1
      expect(request.socket.writableLength).toBeLessThan(4 * piece.length)
    })
  })
  const connection = openRaw(url)
  connection.socket.pause()
  connection.write(get)
  expect(await standstill(() => written, 100)).toBeLessThan(pieces)
  connection.socket.resume()
  expect(await whole.promise).toBe(true)
  await eventually(() => expect(connection.received()).toMatch(/\r\n\r\na/))
  await eventually(() => {
    const text = connection.received()
    expect(text.length - text.indexOf('\r\n\r\n') - 4).toBe(pieces * piece.length)
  })
})

it.each([
  ['at once', (answer: OutgoingResponse, body: Buffer) => answer.end(body)],
  [
    'in a piece',
    (answer: OutgoingResponse, body: Buffer) => {
      answer.write(body)
      answer.end()
    },
  ],
])(
  'an answer that is given %s is not whole where its client leaves before it has all of it',
  async (_what, give) => {
    const closed = deferred<boolean>()
    const body = Buffer.alloc(32 * 1024 * 1024)
    const { url, server } = await runServer((_, answer) => {
      answer.onClose.add(() => closed.resolve(answer.isComplete))
      answer.writeHead(200, ['content-length', String(body.length)])
      give(answer, body)
    })
    const connection = openRaw(url)
    connection.socket.pause()
    connection.write(get)
    await eventually(() => expect(connection.socket.bytesRead).toBeGreaterThan(0))
    connection.socket.resetAndDestroy()
    expect(await closed.promise).toBe(false)
    await eventually(() => expect(server.connectionCount()).toBe(0))
  },
)

it('what is written behind the end of a connection goes nowhere, and says so', async () => {
  const found = deferred<unknown[]>()
  const { url } = await runServer((request, answer) => {
    answer.writeHead(200, ['content-length', '3'])
    request.socket.destroy()
    const errors: unknown[] = []
    answer.write(Buffer.from('ab'), (error) => errors.push(error instanceof Error))
    answer.end('abc')
    answer.write(Buffer.from('ab'), (error) => errors.push(error instanceof Error))
    found.resolve([...errors, answer.isComplete, answer.isDestroyed])
  })
  openRaw(url).write(get)
  expect(await found.promise).toEqual([true, true, false, true])
})

it('a request that was sent ahead does not begin behind an answer that was cut off', async () => {
  const targets: string[] = []
  const { url } = await runServer(({ head }, answer) => {
    targets.push(head.target)
    setImmediate(() => answer.destroy())
  })
  const connection = openRaw(url)
  connection.write(get + get.replace('/', '/ahead'))
  expect(await connection.end()).toBe('')
  expect(targets).toEqual(['/'])
})
