import { expect, it } from 'vitest'
import { orders, streamOf } from '../../../src/backend/test/engine/sample-tables.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayBefore, startUpstream } from '../support/running-gateway.ts'

const plans = [
  ['explain_plan', { query: { k: 3, vector: [1, 1] } }],
  ['analyze_plan', { k: 3, vector: [1, 1] }],
] as const

it('a query plan is plain text for a client that accepts only that, and JSON for others', async () => {
  const { url, post } = await runningBackend()
  await post('/v1/table/t/create', streamOf(orders(3)))
  const gateway = await startGatewayBefore(url())
  for (const [route, body] of plans) {
    const plan = (accept: string | undefined) =>
      gateway.post(`/v1/table/t/${route}`, { body, ...(accept !== undefined && { headers: { accept } }) })
    const text = await plan('text/plain')
    expect(text).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } })
    expect(text.bytes.toString()).toMatch(/^[A-Z][^]*LanceRead: /)
    for (const accept of [undefined, '*/*', 'application/json', 'text/plain, application/json']) {
      const { status, headers, bytes } = await plan(accept)
      expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
      expect(JSON.parse(bytes.toString())).toEqual(expect.stringContaining('LanceRead: '))
    }
    const refused = await gateway.post('/v1/table/none/explain_plan', {
      body: { query: { k: 1 } },
      headers: { accept: 'text/plain' },
    })
    expect(refused).toMatchObject({ status: 404, headers: { 'content-type': 'application/json' } })
  }
})

it('a plan that an upstream sends as plain text keeps its form, also for clients that asked for JSON', async () => {
  const upstream = await startUpstream()
  upstream.handler = respondWith(200, 'LanceRead: "t"\n', { 'content-type': 'text/plain; charset=utf-8' })
  const gateway = await startGatewayBefore(upstream.url)
  for (const [route, body] of plans) {
    for (const accept of ['application/json', '*/*', 'text/plain']) {
      const response = await gateway.post(`/v1/table/t/${route}`, { body, headers: { accept } })
      expect(response).toMatchObject({
        status: 200,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      })
      expect(response.bytes.toString()).toBe('LanceRead: "t"\n')
    }
  }
})
