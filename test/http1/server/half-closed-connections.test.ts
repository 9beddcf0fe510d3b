import { expect, it } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { eventually } from '../../support/eventually.ts'
import { bodyOf, respondText, runServer, runWaiting } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

async function openEcho() {
  const running = await runServer((request, response) => {
    bodyOf(request).then(
      (body) => setTimeout(() => respondText(response, `${request.head.target} ${String(body)}`), 20),
      () => undefined,
    )
  })
  const connection = openRawConnection(running.url)
  connection.socket.allowHalfOpen = true
  return { ...running, connection }
}

it.each([
  ['one request', get, ['/ ']],
  ['an upload', 'POST /up HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc', ['/up abc']],
  ['pipelined requests', get.replace('/', '/a') + get.replace('/', '/b'), ['/a ', '/b ']],
  ['an empty line behind its request', `${get}\r\n`, ['/ ']],
])(
  'a client that closes its side behind %s gets what it asked for, then the connection ends',
  async (_, sent, expected) => {
    const { connection, errors, server } = await openEcho()
    connection.socket.end(sent)
    const received = await connection.waitForEnd()
    expect(received.match(/\r\n\r\n\/[a-z]* (?:abc)?/g)).toEqual(expected.map((text) => `\r\n\r\n${text}`))
    expect(errors).toEqual([])
    await eventually(() => expect(server.connectionCount()).toBe(0))
  },
)

it('a client that closes its side while its request is served gets the response', async () => {
  const { url, started } = await runWaiting()
  const connection = openRawConnection(url)
  connection.socket.allowHalfOpen = true
  connection.write(get)
  await eventually(() => expect(started).toHaveLength(1))
  const [response] = started
  response?.writeHead(200, ['content-length', '4'])
  connection.socket.end()
  await eventually(() => expect(response?.request.socket.readableEnded).toBe(true))
  response?.end('late')
  expect(await connection.waitForEnd()).toMatch(/late$/)
})

it('a client that has closed its side is not waited for longer than one that reads nothing', async () => {
  const { url, started, errors } = await runWaiting({ sendTimeoutMs: 200 })
  const connection = openRawConnection(url)
  connection.socket.allowHalfOpen = true
  connection.socket.end(get)
  expect(await connection.waitForEnd()).toBe('')
  expect(errors).toEqual(['send_timeout'])
  expect(started.map(({ isDestroyed }) => isDestroyed)).toEqual([true])
})
