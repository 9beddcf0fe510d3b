import { expect, it } from 'vitest'
import { openRawConnection } from '../gateway/support/raw-connection.ts'
import { createDeferred } from '../gateway/support/waiting.ts'
import { respondText, runHolding } from '../http1/server/running-server.ts'
import { eventually } from '../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

it('when draining, active responses and the next ones are the last of their connections', async () => {
  const { url, started, server } = await runHolding()
  const [underWay, startedBefore, idle] = [
    openRawConnection(url),
    openRawConnection(url),
    openRawConnection(url),
  ]
  underWay.write(get + get)
  startedBefore.write(get)
  await eventually(() => expect(started).toHaveLength(2))
  const early = started.find(({ request }) => request.socket.remotePort === startedBefore.socket.localPort)
  const late = started.find((response) => response !== early)
  early?.writeHead(200, ['content-length', '5'])
  server.drain()
  early?.end('early')
  late?.writeHead(200, ['content-length', '4'])
  late?.end('late')
  expect(await underWay.waitForEnd()).toMatch(/connection: close\r\n[^]*late$/)
  // The response announced keep-alive, so the next request is served.
  await startedBefore.waitFor(/connection: keep-alive\r\n[^]*early$/)
  startedBefore.write(get)
  idle.write(get)
  await eventually(() => expect(started).toHaveLength(4))
  for (const response of started.slice(2)) respondText(response, 'last')
  expect(await startedBefore.waitForEnd()).toMatch(/connection: close\r\n[^]*last$/)
  expect(await idle.waitForEnd()).toMatch(/connection: close\r\n[^]*last$/)
})

it('when it stops accepting, closes idle connections and ends after the last response', async () => {
  const { url, started, server } = await runHolding()
  const [unused, half, busy] = [openRawConnection(url), openRawConnection(url), openRawConnection(url)]
  half.write('GET / HTT')
  busy.write(get)
  await eventually(() => expect([started.length, server.connectionCount()]).toEqual([1, 3]))
  await eventually(() => expect(server.isBusy()).toBe(true))
  server.drain()
  const stopped = server.stopAccepting()
  expect([await unused.waitForEnd(), await half.waitForEnd()]).toEqual(['', ''])
  await eventually(() => expect(server.connectionCount()).toBe(1))
  expect([server.server.listening, server.isBusy()]).toEqual([false, true])
  const refused = openRawConnection(url)
  expect(await refused.waitForEnd()).toBe('')
  const [response] = started
  if (response !== undefined) respondText(response, 'last')
  expect(await busy.waitForEnd()).toMatch(/connection: close\r\n[^]*last$/)
  await stopped
  expect([server.connectionCount(), server.isBusy()]).toEqual([0, false])
})

it('reports an abort once and releases everything', async () => {
  const { url, started, server } = await runHolding()
  const closes = createDeferred<boolean>()
  openRawConnection(url).write('POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\na')
  openRawConnection(url).write('GET / HTT')
  openRawConnection(url)
  await eventually(() => expect([started.length, server.connectionCount()]).toEqual([1, 3]))
  const [response] = started
  if (response === undefined) throw new Error('no request has come')
  let broken = 0
  const taken = createDeferred()
  response.request.consume({
    onRequestData: () => taken.resolve(undefined),
    onRequestEnd: () => undefined,
    onRequestError: () => (broken += 1),
  })
  await taken.promise
  let closings = 0
  response.onClose.add(() => {
    closings += 1
    closes.resolve(response.isComplete)
  })
  response.writeHead(200, ['content-length', '3'])
  response.write(Buffer.from('ab'))
  const { socket } = response.request
  server.destroyAll()
  expect(await closes.promise).toBe(false)
  await eventually(() => expect([server.connectionCount(), server.isBusy()]).toEqual([0, false]))
  await eventually(() => expect(socket.closed).toBe(true))
  expect([closings, broken, response.isDestroyed]).toEqual([1, 1, true])
})
