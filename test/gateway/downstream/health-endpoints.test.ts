import { expect, it } from 'vitest'
import { withUpstream } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const watched = withUpstream(() => ({}), { healthCheckIntervalMs: 50 })

it('is ready without its upstream, reports it, and responds with an error of the catalog API', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(watched)
  const readiness = async () => {
    const response = await fetch(`${gateway.adminUrl}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  expect(await readiness()).toEqual({ status: 200, body: { status: 'ready' } })
  expect(await (await fetch(`${gateway.adminUrl}/livez`)).json()).toEqual({ status: 'ok' })
  await upstream.close()
  await eventually(async () =>
    expect(await readiness()).toEqual({
      status: 200,
      body: { status: 'ready', warnings: { upstreams: 'unhealthy: catalog' } },
    }),
  )
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^catalog_gateway_upstream_healthy\{upstream="catalog"\} 0$/m)
  expect(metrics).not.toContain('check="upstreams"')
  await eventually(async () => {
    const { status, json } = await gateway.post('/v1/table/orders/describe')
    expect({ status, json }).toMatchObject({ status: 503, json: { code: expect.any(Number) } })
  })
})

it('serves health and metrics on the admin port only, and operations on the main port only', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect(await gateway.get(path)).toMatchObject({ status: 404 })
  }
  const response = await fetch(`${gateway.adminUrl}/v1/table`, {
    headers: { 'x-api-key': gateway.key('dev') },
  })
  const { error } = (await response.json()) as { error: string }
  expect({ status: response.status, error }).toEqual({
    status: 404,
    error: expect.stringContaining('the catalog API is on the port of "listen"'),
  })
  expect(upstream.requests).toEqual([])
})
