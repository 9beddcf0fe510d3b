import { expect, it } from 'vitest'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

it('serves health and metrics on the admin port only, and operations on the main port only', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  for (const [path, status] of [
    ['/livez', 'ok'],
    ['/readyz', 'ready'],
  ])
    expect(await (await fetch(gateway.adminUrl + path)).json()).toEqual({ status })
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
