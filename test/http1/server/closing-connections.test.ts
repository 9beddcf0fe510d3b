import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { openRaw } from '../../gateway/raw-connection.ts'
import { deferred, eventually } from '../../gateway/waiting.ts'
import { respondText, runServer } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

/** Begins answers, and leaves their ends to the test. */
async function runWaiting(timeouts = {}) {
  const begun: OutgoingResponse[] = []
  const running = await runServer((_, answer) => void begun.push(answer), { timeouts })
  return { ...running, begun }
}

it('a connection is closed without a word when it has been idle for too long, and not while an answer is waited for', async () => {
  const { url, begun, server, errors } = await runWaiting({ keepAliveTimeoutMs: 300, headersTimeoutMs: 300 })
  const waiting = openRaw(url)
  waiting.write(get)
  const idle = openRaw(url)
  idle.write(get)
  await eventually(() => expect(begun).toHaveLength(2))
  const one = begun.find(({ request }) => request.socket.remotePort === idle.socket.localPort)
  const other = begun.find((answer) => answer !== one)
  if (one === undefined || other === undefined) throw new Error('not both requests have come')
  respondText(one, 'one')
  expect(await idle.end()).toMatch(/one$/)
  expect(waiting.isClosed()).toBe(false)
  await eventually(() => expect(server.connectionCount()).toBe(1))
  respondText(other, 'other')
  expect(await waiting.end()).toMatch(/other$/)
  expect(errors).toEqual([])
})

it('when answers are the last of their connections, those under way are, and the next ones', async () => {
  const { url, begun, server } = await runWaiting()
  const [underWay, begunBefore, idle] = [openRaw(url), openRaw(url), openRaw(url)]
  underWay.write(get + get)
  begunBefore.write(get)
  await eventually(() => expect(begun).toHaveLength(2))
  const early = begun.find(({ request }) => request.socket.remotePort === begunBefore.socket.localPort)
  const late = begun.find((answer) => answer !== early)
  early?.writeHead(200, ['content-length', '5'])
  server.drain()
  early?.end('early')
  late?.writeHead(200, ['content-length', '4'])
  late?.end('late')
  expect(await underWay.end()).toMatch(/connection: close\r\n[^]*late$/)
  // It was told that it may go on, so its next request is served.
  await begunBefore.until(/connection: keep-alive\r\n[^]*early$/)
  begunBefore.write(get)
  idle.write(get)
  await eventually(() => expect(begun).toHaveLength(4))
  for (const answer of begun.slice(2)) respondText(answer, 'last')
  expect(await begunBefore.end()).toMatch(/connection: close\r\n[^]*last$/)
  expect(await idle.end()).toMatch(/connection: close\r\n[^]*last$/)
})

it('a server that takes no more closes what waits, and is over when the last answer is', async () => {
  const { url, begun, server } = await runWaiting()
  const [unused, half, busy] = [openRaw(url), openRaw(url), openRaw(url)]
  half.write('GET / HTT')
  busy.write(get)
  await eventually(() => expect([begun.length, server.connectionCount()]).toEqual([1, 3]))
  await eventually(() => expect(server.isBusy()).toBe(true))
  server.drain()
  const stopped = server.stopAccepting()
  expect([await unused.end(), await half.end()]).toEqual(['', ''])
  expect([server.isListening, server.connectionCount(), server.isBusy()]).toEqual([false, 1, true])
  const refused = openRaw(url)
  expect(await refused.end()).toBe('')
  const [answer] = begun
  if (answer !== undefined) respondText(answer, 'last')
  expect(await busy.end()).toMatch(/connection: close\r\n[^]*last$/)
  await stopped
  expect([server.connectionCount(), server.isBusy()]).toEqual([0, false])
})

it('what is cut off is told so once, and leaves nothing behind', async () => {
  const { url, begun, server } = await runWaiting()
  const closes = deferred<boolean>()
  openRaw(url).write('POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\na')
  openRaw(url).write('GET / HTT')
  openRaw(url)
  await eventually(() => expect([begun.length, server.connectionCount()]).toEqual([1, 3]))
  const [answer] = begun
  if (answer === undefined) throw new Error('no request has come')
  let broken = 0
  const taken = deferred()
  answer.request.consume({
    onRequestData: () => taken.resolve(undefined),
    onRequestEnd: () => undefined,
    onRequestError: () => (broken += 1),
  })
  await taken.promise
  let closings = 0
  answer.onClose.add(() => {
    closings += 1
    closes.resolve(answer.isComplete)
  })
  answer.writeHead(200, ['content-length', '3'])
  answer.write(Buffer.from('ab'))
  const { socket } = answer.request
  server.destroyAll()
  expect(await closes.promise).toBe(false)
  await eventually(() => expect([server.connectionCount(), server.isBusy()]).toEqual([0, false]))
  await eventually(() => expect(socket.closed).toBe(true))
  expect([closings, broken, answer.isDestroyed]).toEqual([1, 1, true])
})

it('a client that never closes its side is closed behind its last answer', async () => {
  const { url, begun, server } = await runWaiting()
  const connection = openRaw(url)
  connection.socket.allowHalfOpen = true
  connection.write(get.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
  await eventually(() => expect(begun).toHaveLength(1))
  const [answer] = begun
  if (answer !== undefined) respondText(answer, 'last')
  await connection.until(/last$/)
  // What it still sends is read by nobody, and keeps nothing open.
  connection.write(get)
  await eventually(() => expect(server.connectionCount()).toBe(0))
  expect(begun).toHaveLength(1)
})

it('of requests sent ahead of one whose client has left none begins', async () => {
  const { url, begun, server } = await runWaiting()
  const connection = openRaw(url)
  connection.write(get.repeat(3))
  await eventually(() => expect(begun).toHaveLength(1))
  connection.socket.resetAndDestroy()
  await eventually(() => expect(server.connectionCount()).toBe(0))
  const [answer] = begun
  if (answer !== undefined) respondText(answer, 'nobody reads this')
  expect([begun.length, answer?.isComplete]).toEqual([1, false])
})
