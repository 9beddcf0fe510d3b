import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { bodyOf, respondText, runServer, runHolding } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

it('closes an idle connection after its timeout, but not during a request', async () => {
  const { url, started, server, errors } = await runHolding({
    keepAliveTimeoutMs: 1_000,
    headersTimeoutMs: 1_000,
  })
  const waiting = openRawConnection(url)
  waiting.write(get)
  const idle = openRawConnection(url)
  idle.write(get)
  await eventually(() => expect(started).toHaveLength(2))
  const one = started.find(({ request }) => request.socket.remotePort === idle.socket.localPort)
  const other = started.find((response) => response !== one)
  if (one === undefined || other === undefined) throw new Error('not both requests have come')
  respondText(one, 'one')
  expect(await idle.waitForEnd()).toMatch(/one$/)
  expect(waiting.isClosed()).toBe(false)
  await eventually(() => expect(server.connectionCount()).toBe(1))
  respondText(other, 'other')
  expect(await waiting.waitForEnd()).toMatch(/other$/)
  expect(errors).toEqual([])
})

it('closes the connection of a client that never closes its side after the last response', async () => {
  const { url, started, server } = await runHolding()
  const connection = openRawConnection(url)
  connection.socket.allowHalfOpen = true
  connection.write(get.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
  await eventually(() => expect(started).toHaveLength(1))
  const [response] = started
  if (response !== undefined) respondText(response, 'last')
  await connection.waitFor(/last$/)
  // Further bytes are not read, and do not keep the connection open.
  connection.write(get)
  await eventually(() => expect(server.connectionCount()).toBe(0))
  expect(started).toHaveLength(1)
})

it('starts no pipelined request of a client that has disconnected', async () => {
  const { url, started, server } = await runHolding()
  const connection = openRawConnection(url)
  connection.write(get.repeat(3))
  await eventually(() => expect(started).toHaveLength(1))
  connection.socket.resetAndDestroy()
  await eventually(() => expect(server.connectionCount()).toBe(0))
  const [response] = started
  if (response !== undefined) respondText(response, 'nobody reads this')
  expect([started.length, response?.isComplete]).toEqual([1, false])
})

const maxConnectionAgeMs = 1_500

it('the first response on a connection of the maximum age is the last', async () => {
  const { url } = await runServer((_, response) => respondText(response, 'good'), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRawConnection(url)
  client.write(get)
  await client.waitFor(/connection: keep-alive\r\n[^]*good$/)
  await pause(maxConnectionAgeMs)
  expect(client.isClosed()).toBe(false)
  client.write(get + get)
  expect((await client.waitForEnd()).match(/good/g)).toHaveLength(2)
  expect(client.received()).toMatch(/connection: close\r\n[^]*good$/)
})

it('an active response is the last if its head is written at that age', async () => {
  const started: OutgoingResponse[] = []
  const { url } = await runServer((_, response) => void started.push(response), {
    timeouts: { maxConnectionAgeMs },
  })
  const client = openRawConnection(url)
  client.write(get)
  await eventually(() => expect(started).toHaveLength(1))
  await pause(maxConnectionAgeMs)
  for (const response of started) respondText(response, 'late')
  expect(await client.waitForEnd()).toMatch(/connection: close\r\n[^]*late$/)
})

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
  const { url, started } = await runHolding()
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
  const { url, started, errors } = await runHolding({ sendTimeoutMs: 200 })
  const connection = openRawConnection(url)
  connection.socket.allowHalfOpen = true
  connection.socket.end(get)
  expect(await connection.waitForEnd()).toBe('')
  expect(errors).toEqual(['send_timeout'])
  expect(started.map(({ isDestroyed }) => isDestroyed)).toEqual([true])
})
