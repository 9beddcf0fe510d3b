import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

it('aborts an upload upstream if its client disconnects, and records its outcome', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = () => undefined
  const leave = new AbortController()
  const body = new PassThrough()
  body.on('error', () => undefined)
  body.write(arrowBytes(64 * 1024))
  const response = gateway.post('/v1/table/orders/insert', { body, signal: leave.signal })
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  leave.abort()
  await expect(response).rejects.toThrow()
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  await eventually(async () => {
    expect(await gateway.recorded('outcome')).toMatchObject([{ result: 'unknown' }])
  })
})

it.each(['before the response', 'in the middle of it'])(
  'completes a change if its client disconnects %s, records its outcome, and counts it',
  async (when) => {
    const { gateway, upstream } = await startGatewayAndUpstream()
    const clientHasLeft = createDeferred()
    upstream.handler = async (_arrival, response) => {
      if (when === 'in the middle of it') response.writeHead(200).write('{"version":')
      await clientHasLeft.promise
      response.end(when === 'in the middle of it' ? '7}' : '{"version":7}')
    }
    const leave = new AbortController()
    const response = gateway.post('/v1/table/orders/update', { body: {}, signal: leave.signal })
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    leave.abort()
    await expect(response).rejects.toThrow()
    clientHasLeft.resolve(undefined)
    await eventually(async () => {
      expect(await gateway.recorded('outcome')).toMatchObject([
        { result: 'committed', status: 200, version: 7 },
      ])
    })
    await eventually(async () => {
      const metrics = await gateway.metrics()
      expect(metrics).toMatch(/^catalog_gateway_requests_total\{operation="UpdateTable",.*\} 1$/m)
    })
  },
)

it.each(['before the answer', 'in the middle of it'])(
  'aborts a read upstream without a retry if its client disconnects %s',
  async (when) => {
    const { gateway, upstream } = await startGatewayAndUpstream()
    const abandoned = createDeferred()
    upstream.handler = (_arrival, response) => {
      response.once('close', () => abandoned.resolve(undefined))
      if (when !== 'before the answer') response.writeHead(200).write('half of it')
    }
    const leave = new AbortController()
    const response = gateway.open('POST', '/v1/table/orders/query', { body: {}, signal: leave.signal })
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    if (when === 'before the answer') {
      leave.abort()
      await expect(response).rejects.toThrow()
    } else {
      const { body } = await response
      await once(body, 'readable')
      body.on('error', () => undefined)
      leave.abort()
    }
    await abandoned.promise
    upstream.handler = respondWith(200, {})
    await gateway.get('/v1/table/o/tags/list')
    expect(upstream.requests.map(({ target }) => target)).toEqual([
      '/v1/table/orders/query',
      '/v1/table/o/tags/list',
    ])
  },
)
