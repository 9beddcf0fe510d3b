import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

it('a request that is active when the gateway stops completes', async () => {
  const { gateway, port, application } = await startGatewayWithRoute()
  const next = createDeferred()
  application.answering = async (_, response) => {
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
    adjust: (settings) => ({ ...settings, timeouts: { ...settings.timeouts, drainTimeoutMs: 200 } }),
  })
  const closed = createDeferred()
  application.answering = (_, response) => {
    response.once('close', () => closed.resolve(undefined))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }
  const { body } = await port.open('GET', '/ui/events')
  const received = text(body)
  await Promise.all([gateway.stop(), expect(received).rejects.toThrow(), closed.promise])
})
