import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

it('a stream of events passes as it is sent, and outlasts silence', async () => {
  const { port, application } = await startGatewayWithRoute()
  const next = createDeferred()
  application.answering = async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await next.promise
    response.end('data: 1\n\n')
  }
  const { statusCode, body } = await port.open('GET', '/ui/events')
  expect(statusCode).toBe(200)
  next.resolve(undefined)
  expect(await text(body)).toBe('data: 1\n\n')
})

it('a client that leaves aborts the request to the upstream', async () => {
  const { port, application } = await startGatewayWithRoute()
  const closed = createDeferred()
  application.answering = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    if (application.requests.length === 1) response.writeHead(200).write('first')
  }
  const { body } = await port.open('GET', '/ui/slow')
  body.destroy()
  await closed.promise
})

it('a client that leaves before the response aborts the request to the upstream', async () => {
  const { port, application } = await startGatewayWithRoute()
  const closed = createDeferred()
  const client = new AbortController()
  application.answering = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    client.abort()
  }
  await expect(port.get('/ui/slow', { signal: client.signal })).rejects.toThrow()
  await closed.promise
})

it('a response that the upstream cuts never looks complete', async () => {
  const { gateway, port, application } = await startGatewayWithRoute()
  application.answering = (_, response) => {
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
  application.answering = () => undefined
  async function* send(): AsyncGenerator<string> {
    yield 'first'
    await eventually(() => expect(application.requests).toHaveLength(1))
    await pause(20)
    throw new Error('cut')
  }
  await expect(port.post('/ui', { body: Readable.from(send()) })).rejects.toThrow()
  await expect(application.requests[0]?.body).rejects.toThrow()
})
