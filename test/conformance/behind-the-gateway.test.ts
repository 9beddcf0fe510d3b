import { expect, it } from 'vitest'
import { runningBackend } from '../backend/running-backend.ts'
import { gatewayBefore } from '../gateway/running-gateway.ts'
import { runConformance } from './conformance.ts'
import { faultsOf } from './faults.ts'

const patience = 180_000

it('the bundled catalog behind the gateway does what the interface says', { timeout: patience }, async () => {
  const { url } = await runningBackend()
  const gateway = await gatewayBefore(url())
  const credentials = { 'x-api-key': gateway.key('dev') }
  expect(faultsOf(await runConformance({ url: gateway.url, credentials }))).toEqual([])
})
