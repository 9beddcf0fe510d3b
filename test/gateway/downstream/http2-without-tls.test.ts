import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { frameTypes, preface } from '../../support/http2-frames.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const parsers = ['own', 'node'] as const
/** Long enough for the gateway to read a piece on its own. */
const betweenPiecesMs = 20

async function startAndConnect(parser: (typeof parsers)[number]): Promise<Socket> {
  const { gateway } = await startGatewayAndUpstream({
    tuning: { clients: { headersTimeoutMs: 1_000 } },
    adjust: (settings) => ({ ...settings, listen: { ...settings.listen, h2c: true, parser } }),
  })
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function writePieces(socket: Socket, pieces: readonly (string | Buffer)[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece)
    await pause(betweenPiecesMs)
  }
}

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

it.each(parsers)('a preface in pieces begins HTTP/2 (parser %s)', async (parser) => {
  const socket = await startAndConnect(parser)
  const received = once(socket, 'data') as Promise<[Buffer]>
  await writePieces(socket, [preface.subarray(0, 1), preface.subarray(1, 23), preface.subarray(23)])
  const [frame] = await received
  expect(frame[3]).toBe(frameTypes.settings)
})

it.each(parsers)('a request that begins like the preface is one of HTTP/1.1 (parser %s)', async (parser) => {
  const socket = await startAndConnect(parser)
  const response = readAll(socket)
  await writePieces(socket, ['PRI', ' /v1/table HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'])
  expect(await response).toMatch(/^HTTP\/1\.1 4\d\d /)
})

it.each(parsers)('a connection that stops within the preface is closed (parser %s)', async (parser) => {
  const socket = await startAndConnect(parser)
  const response = readAll(socket)
  await writePieces(socket, [preface.subarray(0, 10)])
  expect(await response).toMatch(/^HTTP\/1\.1 408 /)
})

it.each(parsers)('a connection that ends within the preface is closed (parser %s)', async (parser) => {
  const socket = await startAndConnect(parser)
  const response = readAll(socket)
  socket.end(preface.subarray(0, 10))
  expect(await response).toMatch(/^HTTP\/1\.1 400 /)
})
