import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { holdBack } from '../../../src/gateway/pass-through/web-socket-tunnel.ts'

/** A connection of two sides of WebSocket. */
async function connectSides(): Promise<[near: WebSocket, far: WebSocket]> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const near = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'open')])) as [
    [WebSocket],
    unknown,
  ]
  onTestFinished(() => {
    near.terminate()
    server.close()
  })
  return [near, far]
}

it('a tunnel whose reader takes nothing for the send timeout ends, and its other side is read again', async () => {
  const [[, from], [to, reader]] = await Promise.all([connectSides(), connectSides()])
  reader.pause()
  while (to.bufferedAmount <= 8 * 1024 * 1024) to.send(Buffer.alloc(1024 * 1024))
  const closed = once(to, 'close')
  holdBack(from, to, 100)
  expect(from.isPaused).toBe(true)
  await closed
  await expect.poll(() => from.isPaused).toBe(false)
})

it('a tunnel whose reader is slow goes on', async () => {
  const [[, from], [to, reader]] = await Promise.all([connectSides(), connectSides()])
  let received = 0
  reader.on('message', (message: Buffer) => (received += message.length))
  for (let count = 0; count < 16; count += 1) to.send(Buffer.alloc(1024 * 1024))
  holdBack(from, to, 60_000)
  await expect.poll(() => received, { timeout: 20_000 }).toBe(16 * 1024 * 1024)
  await expect.poll(() => from.isPaused).toBe(false)
  expect(to.readyState).toBe(WebSocket.OPEN)
})
