import { expect, it, onTestFinished, vi } from 'vitest'
import { withUpstream, type TestedGateway } from '../support/open-gateway.ts'
import { getHeaderValues } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, startGatewayBefore, startUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const read = '/v1/table/orders/describe'
const watched = withUpstream(() => ({}), {
  healthCheckIntervalMs: 20,
  healthCheckTimeoutMs: 1_000,
  consecutiveFailures: 1_000,
})

async function gaugeOfHealth(gateway: TestedGateway): Promise<string | undefined> {
  const metrics = await gateway.metrics()
  return /^catalog_gateway_upstream_healthy\{upstream="catalog"\} (.*)$/m.exec(metrics)?.[1]
}

it.each([503, undefined])(
  'an upstream that responds to checks with %s is unhealthy: requests are rejected until it recovers',
  async (status) => {
    const { gateway, upstream } = await startGatewayAndUpstream(watched)
    expect(await gateway.post(read)).toMatchObject({ status: 200 })
    upstream.healthStatus = status
    await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 503 }))
    expect(await gaugeOfHealth(gateway)).toBe('0')
    upstream.healthStatus = 200
    await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 200 }))
  },
)

const readyz = async ({ adminUrl }: TestedGateway) => {
  const response = await fetch(`${adminUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

const notReached = {
  status: 503,
  body: { problems: { startup: 'no health check has passed yet: catalog' } },
}

it('a gateway that starts before its upstream is ready when a check passes, and stays ready without it', async () => {
  const upstream = await startUpstream()
  upstream.healthStatus = 503
  const gateway = await startGatewayBefore(upstream.url, watched)
  expect(await readyz(gateway)).toMatchObject(notReached)
  upstream.healthStatus = 200
  await eventually(async () => expect(await readyz(gateway)).toMatchObject({ status: 200 }))
  upstream.healthStatus = 503
  await eventually(async () => expect(await gaugeOfHealth(gateway)).toBe('0'))
  expect(await readyz(gateway)).toMatchObject({
    status: 200,
    body: { warnings: { upstreams: 'unhealthy: catalog' } },
  })
})

it('a gateway whose upstream is away when it starts is ready after 20 seconds, to respond with errors', async () => {
  const upstream = await startUpstream()
  upstream.healthStatus = 503
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const gateway = await startGatewayBefore(upstream.url)
  vi.advanceTimersByTime(19_999)
  expect(await readyz(gateway)).toMatchObject(notReached)
  vi.advanceTimersByTime(1)
  expect(await readyz(gateway)).toMatchObject({ status: 200 })
})

it('checks read one name of the root with the credentials of the gateway', async () => {
  const upstream = await startUpstream()
  await startGatewayBefore(
    upstream.url,
    withUpstream(({ url }) => ({
      url: `${url}/base`,
      delimiter: '.',
      credential: { header: 'authorization', value: 'Bearer of-the-gateway' },
    })),
  )
  const [arrival] = await eventually(() => {
    expect(upstream.healthChecks).not.toEqual([])
    return upstream.healthChecks
  })
  expect(arrival).toMatchObject({ method: 'GET', target: '/base/v1/namespace/./list?delimiter=.&limit=1' })
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'authorization')).toEqual(['Bearer of-the-gateway'])
})

it.each([
  ['with a credential of the gateway', { header: 'authorization', value: 'Bearer old' } as const, '1'],
  ['without one', undefined, '0'],
])('a check that is rejected with 401 %s is reported', async (_name, credential, expected) => {
  const upstream = await startUpstream()
  upstream.healthStatus = 401
  const gateway = await startGatewayBefore(
    upstream.url,
    withUpstream(() => (credential ? { credential } : {})),
  )
  const readyz = await fetch(`${gateway.adminUrl}/readyz`)
  expect(readyz.status).toBe(200)
  expect(await readyz.json()).toEqual({
    status: 'ready',
    ...(credential && {
      warnings: { upstream_credentials: 'the credential of the gateway is refused: catalog' },
    }),
  })
  const metrics = await gateway.metrics()
  const [, value] =
    /^catalog_gateway_upstream_credential_refused\{upstream="catalog"\} (.*)$/m.exec(metrics) ?? []
  expect(value).toBe(expected)
})
