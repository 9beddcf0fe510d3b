import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { expect, it } from 'vitest'
import { listenLocally } from '../../../../test/support/local-server.ts'
import { readBody } from '../../http/request-body.ts'

const timeoutMs = 50

/** Begins a request with a body of 10 bytes, sends `body`, and reads it. */
async function upload(body: string) {
  const server = createServer()
  const port = await listenLocally(server)
  const sent = request({ port, method: 'POST', headers: { 'content-length': 10 } }).on('error', () => {})
  sent.flushHeaders()
  sent.write(body)
  const [received] = (await once(server, 'request')) as [IncomingMessage]
  return await readBody(received, 'maxUploadBytes', 100, undefined, timeoutMs)
}

it.each(['', '12345'])('an upload that stops after "%s" ends with 408', async (body) => {
  await expect(upload(body)).rejects.toMatchObject({ kind: 'InvalidInput', status: 408 })
})
