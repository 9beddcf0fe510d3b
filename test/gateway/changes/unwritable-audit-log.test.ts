import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { countRefusals } from '../support/count-refusals.ts'
import { eventually } from '../../support/eventually.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

it('refuses changes and serves reads while the audit log is not writable', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const change = () => gateway.post('/v1/table/orders/tags/create', { body: { tag: 'a', version: 1 } })
  expect(await change()).toMatchObject({ status: 200 })
  await rm(gateway.auditFolder, { recursive: true })
  await eventually(async () => expect(await change()).toMatchObject({ status: 503 }))
  const passed = upstream.requests.length
  const refused = await change()
  expectError(refused, {
    kind: 'ServiceUnavailable',
    says: 'the change was not made: the audit log is unavailable; retry later',
  })
  expect(refused.headers['retry-after']).toBe('1')
  expect(upstream.requests).toHaveLength(passed)
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
  const ready = await fetch(`${gateway.adminUrl}/readyz`)
  expect(await ready.json()).toMatchObject({
    problems: { audit: expect.stringMatching(/changes are refused/) },
  })
  const metrics = await gateway.metrics()
  expect(metrics).toMatch(/^catalog_gateway_audit_write_failures_total [1-9]/m)
  expect(await countRefusals(gateway, 'audit_write_failed')).toBeGreaterThan(1)
})
