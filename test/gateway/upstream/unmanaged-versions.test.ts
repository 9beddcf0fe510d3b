import { expect, it, onTestFinished } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { respondWith, startRecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'

it('a declared table whose versions the catalog does not manage is reported, until one is managed', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const gateway = await startGatewayBefore(upstream.url)
  const warnings = async () => {
    const response = await fetch(`${gateway.adminUrl}/readyz`)
    expect(response.status).toBe(200)
    return ((await response.json()) as { warnings?: Record<string, string> }).warnings?.['managed_versions']
  }
  const gauge = async () => {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    return /^catalog_gateway_upstream_unmanaged_versions\{upstream="catalog"\} (.*)$/m.exec(metrics)?.[1]
  }
  const declare = async (status: number, body: object) => {
    upstream.answering = respondWith(status, body)
    expect(await gateway.post('/v1/table/orders/declare', { body: {} })).toMatchObject({ status })
  }
  const location = 's3://lake/orders'
  const reported = 'clients commit to the storage, past the gateway: catalog'

  expect([await warnings(), await gauge()]).toEqual([undefined, '0'])
  await declare(200, { location })
  expect([await warnings(), await gauge()]).toEqual([reported, '1'])
  await declare(409, { error: 'it exists', code: 5 })
  expect(await warnings()).toBe(reported)
  await declare(200, { location, managed_versioning: true })
  expect([await warnings(), await gauge()]).toEqual([undefined, '0'])

  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes.map(({ result, details }) => [result, details])).toEqual([
    ['committed', { managedVersions: false }],
    ['rejected', undefined],
    ['committed', undefined],
  ])
})
