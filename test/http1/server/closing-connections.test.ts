import { expect, it } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { respondText, runWaiting } from './running-server.ts'
import { eventually } from '../../support/eventually.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

it('closes an idle connection after its timeout, but not during a request', async () => {
  const { url, started, server, errors } = await runWaiting({
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
  const { url, started, server } = await runWaiting()
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
  const { url, started, server } = await runWaiting()
  const connection = openRawConnection(url)
  connection.write(get.repeat(3))
  await eventually(() => expect(started).toHaveLength(1))
  connection.socket.resetAndDestroy()
  await eventually(() => expect(server.connectionCount()).toBe(0))
  const [response] = started
  if (response !== undefined) respondText(response, 'nobody reads this')
  expect([started.length, response?.isComplete]).toEqual([1, false])
})
