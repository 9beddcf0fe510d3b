import { expect, it } from 'vitest'
import { runningBackend } from '../backend/support/running-backend.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { runConformance } from './conformance.ts'
import { findFailures } from './find-failures.ts'

const timeout = 600_000

it('the bundled catalog behind the gateway conforms to the interface', { timeout }, async () => {
  const { url } = await runningBackend()
  const gateway = await startGatewayBefore(url())
  const credentials = { 'x-api-key': gateway.key('dev') }
  expect(findFailures(await runConformance({ url: gateway.url, credentials }))).toEqual([])
})
