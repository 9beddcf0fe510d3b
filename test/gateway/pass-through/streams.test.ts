import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openRawConnection } from '../support/raw-connection.ts'
import { startGatewayWithRevocableKey, startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

it('a stream of events passes as it is sent, and outlasts silence', async () => {
  const { port, application } = await startGatewayWithRoute()
  const next = createDeferred()
  application.handler = async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await next.promise
    response.end('data: 1\n\n')
  }
  const { statusCode, body } = await port.open('GET', '/ui/events')
  expect(statusCode).toBe(200)
  next.resolve(undefined)
  expect(await text(body)).toBe('data: 1\n\n')
})

it.each(['before the response', 'in the middle of it'])(
  'a client that leaves %s aborts the request to the upstream',
  async (when) => {
    const { port, application } = await startGatewayWithRoute()
    const closed = createDeferred()
    const client = new AbortController()
    application.handler = (_, response) => {
      response.once('close', () => closed.resolve(undefined))
      if (when === 'before the response') client.abort()
      else response.writeHead(200).write('first')
    }
    const response = port.open('GET', '/ui/slow', { signal: client.signal })
    if (when === 'before the response') await expect(response).rejects.toThrow()
    else (await response).body.destroy()
    await closed.promise
  },
)

it('a client that closes its side behind its request gets the response', async () => {
  const { gateway, port, application } = await startGatewayWithRoute()
  application.handler = (_, response) => void setTimeout(() => response.end('late'), 50)
  const connection = openRawConnection(port.url)
  connection.socket.allowHalfOpen = true
  connection.socket.end(rawRequest(['GET /ui HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`]))
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 200 [^]*late/)
})

it('a response that the upstream cuts never looks complete', async () => {
  const { gateway, port, application } = await startGatewayWithRoute()
  application.handler = (_, response) => {
    response.writeHead(200)
    response.write('first', () => response.destroy())
  }
  await expect(port.get('/ui')).rejects.toThrow()
  const lines = ['GET /ui HTTP/1.0', 'host: g', `x-api-key: ${gateway.key('dev')}`]
  const text = (await readRaw(port.url, rawRequest(lines))).toString()
  expect(text).not.toContain('0\r\n\r\n')
})

it('an upload that is cut never looks complete', async () => {
  const { port, application } = await startGatewayWithRoute({ route: { methods: ['POST'] } })
  application.handler = () => undefined
  async function* send(): AsyncGenerator<string> {
    yield 'first'
    await eventually(() => expect(application.requests).toHaveLength(1))
    await pause(20)
    throw new Error('cut')
  }
  await expect(port.post('/ui', { body: Readable.from(send()) })).rejects.toThrow()
  await expect(application.requests[0]?.body).rejects.toThrow()
})

it.each(['content-length: 10', 'transfer-encoding: chunked'])(
  'an upload never completes if its key is revoked meanwhile, %s',
  async (framing) => {
    const { gateway, port, application, revoke } = await startGatewayWithRevocableKey({ methods: ['POST'] })
    const client = openRawConnection(port.url)
    client.write(
      `POST /ui HTTP/1.1\r\nhost: g\r\nx-api-key: ${gateway.key('al')}\r\n${framing}\r\n\r\n5\r\nfirs`,
    )
    await eventually(() => expect(application.requests).toHaveLength(1))
    await revoke()
    await client.waitFor(/^HTTP\/1.1 401/)
    await expect(application.requests[0]?.body).rejects.toThrow('aborted')
  },
)

it('a stream ends if the key of its caller is revoked meanwhile', async () => {
  const { port, application, revoke } = await startGatewayWithRevocableKey()
  const closed = createDeferred()
  application.handler = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }
  const { body } = await port.open('GET', '/ui/events', { as: 'al' })
  const received = text(body)
  await Promise.all([revoke(), expect(received).rejects.toThrow(), closed.promise])
})

it('a request that is active when the gateway stops completes', async () => {
  const { gateway, port, application } = await startGatewayWithRoute()
  const next = createDeferred()
  application.handler = async (_, response) => {
    await next.promise
    response.end('done')
  }
  const response = port.get('/ui')
  await eventually(() => expect(application.requests).toHaveLength(1))
  const stopped = gateway.stop()
  next.resolve(undefined)
  expect((await response).bytes.toString()).toBe('done')
  await stopped
})

it('a stream of events is aborted when the time for active requests is over', async () => {
  const { gateway, port, application } = await startGatewayWithRoute({
    settings: { timeouts: { drainTimeoutMs: 200 } },
  })
  const closed = createDeferred()
  application.handler = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }
  const { body } = await port.open('GET', '/ui/events')
  const received = text(body)
  await Promise.all([gateway.stop(), expect(received).rejects.toThrow(), closed.promise])
})
