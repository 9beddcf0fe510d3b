import { text } from 'node:stream/consumers'
import { once } from 'node:events'
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import type { TestedGateway } from '../support/open-gateway.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

function openSession({ url }: TestedGateway): ClientHttp2Session {
  const session = connectHttp2(url)
  session.on('error', () => undefined)
  onTestFinished(() => session.destroy())
  return session
}

const overHttp2 = { listen: { h2c: true }, route: { methods: ['GET', 'POST'] } }

it('a stream of events passes as it is sent, and outlasts silence', async () => {
  const { gateway, application } = await startGatewayWithRoute()
  const next = createDeferred()
  application.answering = async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await next.promise
    response.end('data: 1\n\n')
  }
  const { statusCode, body } = await gateway.open('GET', '/ui/events')
  expect(statusCode).toBe(200)
  next.resolve(undefined)
  expect(await text(body)).toBe('data: 1\n\n')
})

it('a client that leaves aborts the request to the upstream', async () => {
  const { gateway, application } = await startGatewayWithRoute()
  const closed = createDeferred()
  application.answering = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    if (application.requests.length === 1) response.writeHead(200).write('first')
  }
  const { body } = await gateway.open('GET', '/ui/slow')
  body.destroy()
  await closed.promise
})

it('a client that leaves before the response aborts the request to the upstream', async () => {
  const { gateway, application } = await startGatewayWithRoute()
  const closed = createDeferred()
  const client = new AbortController()
  application.answering = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    client.abort()
  }
  await expect(gateway.get('/ui/slow', { signal: client.signal })).rejects.toThrow()
  await closed.promise
})

it('a response that the upstream cuts never looks complete over HTTP/1.1', async () => {
  const { gateway, application } = await startGatewayWithRoute()
  application.answering = (_, response) => {
    response.writeHead(200)
    response.write('first', () => response.destroy())
  }
  await expect(gateway.get('/ui')).rejects.toThrow()
  const lines = ['GET /ui HTTP/1.0', 'host: g', `x-api-key: ${gateway.key('dev')}`]
  const text = (await readRaw(gateway.url, rawRequest(lines))).toString()
  expect(text).not.toContain('0\r\n\r\n')
})

describe('over HTTP/2', () => {
  it('a request with a body passes', async () => {
    const { gateway, application } = await startGatewayWithRoute(overHttp2)
    application.answering = async ({ body }, response) => response.writeHead(201).end(await body)
    const headers = { ':method': 'POST', ':path': '/ui/echo', 'x-api-key': gateway.key('dev') }
    const stream = openSession(gateway).request(headers)
    Readable.from(['one ', 'two']).pipe(stream)
    const [received] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(received[':status']).toBe(201)
    expect(await new Response(Readable.toWeb(stream) as ReadableStream).text()).toBe('one two')
  })

  it('a response that the upstream cuts is reset', async () => {
    const { gateway, application } = await startGatewayWithRoute(overHttp2)
    application.answering = (_, response) => {
      response.writeHead(200)
      response.write('first', () => setTimeout(() => response.destroy(), 20))
    }
    const stream = openSession(gateway).request({ ':path': '/ui', 'x-api-key': gateway.key('dev') })
    stream.resume()
    await expect(once(stream, 'end')).rejects.toThrow()
    expect(stream.rstCode).not.toBe(constants.NGHTTP2_NO_ERROR)
  })

  it.for(['stream', 'session'] as const)('an upload whose %s is cut never looks complete', async (cut) => {
    const { gateway, application } = await startGatewayWithRoute(overHttp2)
    application.answering = () => undefined
    const session = openSession(gateway)
    const headers = { ':method': 'POST', ':path': '/ui', 'x-api-key': gateway.key('dev') }
    const stream = session.request(headers)
    stream.on('error', () => undefined)
    stream.write('first')
    await eventually(() => expect(application.requests).toHaveLength(1))
    // `close` would end the body first.
    if (cut === 'stream') stream.destroy(new Error('cut'))
    else session.destroy()
    await expect(application.requests[0]?.body).rejects.toThrow()
  })
})

it('an upload that is cut never looks complete over HTTP/1.1', async () => {
  const { gateway, application } = await startGatewayWithRoute(overHttp2)
  application.answering = () => undefined
  async function* send(): AsyncGenerator<string> {
    yield 'first'
    await eventually(() => expect(application.requests).toHaveLength(1))
    await pause(20)
    throw new Error('cut')
  }
  await expect(gateway.post('/ui', { body: Readable.from(send()) })).rejects.toThrow()
  await expect(application.requests[0]?.body).rejects.toThrow()
})
