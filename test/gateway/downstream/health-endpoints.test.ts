import { expect, it } from 'vitest'
import { withUpstream } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../support/waiting.ts'

it('is alive but not ready without its upstream', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(({ healthCheck }) => ({ healthCheck: { ...healthCheck, intervalMs: 50 } })),
  )
  const ask = async (path: string) => {
    const response = await fetch(gateway.adminUrl + path)
    return { status: response.status, body: await response.json() }
  }
  expect(await ask('/livez')).toEqual({ status: 200, body: { status: 'ok' } })
  expect(await ask('/readyz')).toEqual({ status: 200, body: { status: 'ready' } })
  await upstream.close()
  await eventually(async () =>
    expect(await ask('/readyz')).toEqual({
      status: 503,
      body: { status: 'not ready', problems: { upstreams: 'no healthy upstream' } },
    }),
  )
  expect(await ask('/livez')).toMatchObject({ status: 200 })
})

it('serves health and metrics on the admin port only, and operations on the main port only', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect(await gateway.get(path)).toMatchObject({ status: 404 })
  }
  const response = await fetch(`${gateway.adminUrl}/v1/table`, {
    headers: { 'x-api-key': gateway.key('dev') },
  })
  expect(response.status).toBe(404)
  expect(upstream.requests).toEqual([])
})
