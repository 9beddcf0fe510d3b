import { expect, it } from 'vitest'
import { refusalsCounted } from '../gateway/counted.ts'
import { openRaw } from '../gateway/raw-connection.ts'
import { rawRequest } from '../gateway/raw-exchange.ts'
import { gatewayAndUpstream } from '../gateway/running-gateway.ts'
import { deferred, eventually } from '../gateway/waiting.ts'

// A client that asks for much and reads nothing of it holds the memory and the connection of the answer.
const sendTimeoutMs = 300
const mebibytes = Buffer.alloc(48 * 1024 * 1024)

it('an answer of which nothing is read is given up, though its upstream took long before', async () => {
  const { gateway, upstream } = await gatewayAndUpstream({
    adjust: (settings) => ({ ...settings, timeouts: { ...settings.timeouts, sendTimeoutMs: sendTimeoutMs } }),
  })
  const abandoned = deferred()
  upstream.answering = (_arrival, response) => {
    response.once('close', () => abandoned.resolve(undefined))
    setTimeout(() => response.end(mebibytes), 3 * sendTimeoutMs)
  }
  const connection = openRaw(gateway.url)
  connection.socket.pause()
  connection.write(
    rawRequest([
      'POST /v1/table/o/query HTTP/1.1',
      'host: g',
      `x-api-key: ${gateway.key('dev')}`,
      'content-length: 0',
    ]),
  )
  await eventually(async () => expect(await refusalsCounted(gateway, 'send_timeout')).toBe(1))
  await abandoned.promise
  connection.socket.resume()
  await connection.end()
  expect(connection.received().length).toBeLessThan(mebibytes.length)
})
