import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { openBody, readBody } from '../../http/request-body.ts'

const limit = { setting: 'maxUploadBytes', maxBytes: 100 } as const
const timeoutMs = 50

type Read = (upload: ReturnType<typeof openBody>) => Promise<unknown>

/** Begins a request with a body of 10 bytes, sends `body`, and resolves with what `read` has read. */
async function upload(body: string, read: Read) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sent = request({ port, method: 'POST', headers: { 'content-length': 10 } }).on('error', () => {})
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  sent.flushHeaders()
  sent.write(body)
  const [received] = (await once(server, 'request')) as [IncomingMessage]
  return await read(openBody(received, timeoutMs))
}

const readAll: Read = (opened) => readBody(opened, limit)

const readSlowly: Read = async ({ chunks }) => {
  let length = 0
  for await (const chunk of chunks) {
    await setTimeout(3 * timeoutMs)
    length += chunk.length
  }
  return length
}

it.each(['', '12345'])('an upload that stops after "%s" ends with 408', async (body) => {
  await expect(upload(body, readAll)).rejects.toMatchObject({ kind: 'InvalidInput', status: 408 })
})

it('the time that the reader takes does not count', async () => {
  expect(await upload('1234567890', readSlowly)).toBe(10)
})
