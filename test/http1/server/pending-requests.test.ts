import { expect, it } from 'vitest'
import { type RequestScheduler } from '../../../src/http1/server/request-queue.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { bodyOf, respondText, runServer } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

/** A scheduler that starts requests only when the test does. */
function manualScheduler() {
  const pending = new Set<() => void>()
  const scheduler: RequestScheduler = {
    onConnection: () => undefined,
    schedule: (start) => void pending.add(start),
    cancel: (start) => void pending.delete(start),
  }
  function startAll(): void {
    const starts = [...pending]
    pending.clear()
    for (const start of starts) start()
  }
  return { scheduler, pending, startAll }
}

async function runManually() {
  const { scheduler, pending, startAll } = manualScheduler()
  const targets: string[] = []
  const running = await runServer(
    (request, response) => {
      targets.push(request.head.target)
      void bodyOf(request).then(
        (body) => respondText(response, `${request.head.target} ${body.length}`),
        () => undefined,
      )
    },
    { scheduler },
  )
  return { ...running, pending, startAll, targets }
}

it('serves a pending request when it is started, with the body that came before and the rest of it', async () => {
  const { url, pending, startAll } = await runManually()
  const [whole, half] = [openRawConnection(url), openRawConnection(url)]
  whole.write('POST /whole HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc')
  half.write('POST /half HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\na')
  await eventually(() => expect(pending.size).toBe(2))
  expect(whole.received() + half.received()).toBe('')
  startAll()
  expect(await whole.waitFor(/\/whole 3$/)).toMatch(/^HTTP\/1\.1 200 OK/)
  half.write('bc')
  expect(await half.waitFor(/\/half 3$/)).toMatch(/^HTTP\/1\.1 200 OK/)
})

it('reads little of the body of a pending request, and the rest when it is started', async () => {
  const { url, pending, startAll } = await runManually()
  const size = 32 * 1024 * 1024
  const connection = openRawConnection(url)
  connection.write(`POST /large HTTP/1.1\r\nhost: g\r\ncontent-length: ${size}\r\n\r\n`)
  await eventually(() => expect(pending.size).toBe(1))
  connection.write(Buffer.alloc(size))
  const written = new Promise((resolve) => connection.socket.once('drain', resolve))
  expect(await Promise.race([written, new Promise((resolve) => setTimeout(resolve, 200, 'held back'))])).toBe(
    'held back',
  )
  startAll()
  await connection.waitFor(new RegExp(`/large ${size}$`))
})

it('queues a pipelined request behind the requests of other connections', async () => {
  const { url, pending, startAll, targets } = await runManually()
  const [pipelining, other] = [openRawConnection(url), openRawConnection(url)]
  pipelining.write(get + get.replace('/', '/second'))
  await eventually(() => expect(pending.size).toBe(1))
  other.write(get.replace('/', '/other'))
  await eventually(() => expect(pending.size).toBe(2))
  startAll()
  await other.waitFor(/\/other 0$/)
  await eventually(() => expect(pending.size).toBe(1))
  expect(targets).toEqual(['/', '/other'])
  startAll()
  await pipelining.waitFor(/\/second 0$/)
})

it('starts a pending request when its client ends, and rejects half of one', async () => {
  const { url, errors, targets } = await runManually()
  const [whole, half] = [openRawConnection(url), openRawConnection(url)]
  whole.socket.end(get)
  half.socket.end(get.slice(0, 20))
  await whole.waitForEnd()
  expect(targets).toEqual(['/'])
  expect(await half.waitForEnd()).toMatch(/^HTTP\/1\.1 400 Bad Request/)
  expect(errors).toEqual(['incomplete_request'])
})

it('cancels a pending request when its connection is closed', async () => {
  const { url, pending, startAll, targets, server } = await runManually()
  const connection = openRawConnection(url)
  connection.write(get)
  await eventually(() => expect(pending.size).toBe(1))
  connection.socket.resetAndDestroy()
  await eventually(() => expect(server.connectionCount()).toBe(0))
  expect(pending.size).toBe(0)
  startAll()
  expect(targets).toEqual([])
})

it('serves requests that were pending when it stopped accepting connections', async () => {
  const { url, pending, startAll, server } = await runManually()
  const [busy, idle] = [openRawConnection(url), openRawConnection(url)]
  busy.write(get)
  await eventually(() => expect(pending.size).toBe(1))
  await eventually(() => expect(server.connectionCount()).toBe(2))
  server.drain()
  const closed = server.stopAccepting()
  expect(await idle.waitForEnd()).toBe('')
  expect(server.isBusy()).toBe(true)
  startAll()
  expect(await busy.waitForEnd()).toMatch(/connection: close\r\n[^]*\/ 0$/)
  await closed
})

it('does not count the time in the queue as time without a request', async () => {
  const { scheduler, pending, startAll } = manualScheduler()
  const { url, errors } = await runServer((_, response) => respondText(response, 'at last'), {
    scheduler,
    timeouts: { headersTimeoutMs: 1_000, keepAliveTimeoutMs: 1_000 },
  })
  const connection = openRawConnection(url)
  connection.write(get)
  await eventually(() => expect(pending.size).toBe(1))
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  startAll()
  await connection.waitFor(/at last$/)
  expect(errors).toEqual([])
})
