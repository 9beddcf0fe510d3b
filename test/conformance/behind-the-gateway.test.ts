import { expect, it } from 'vitest'
import { getOperation } from '../../src/catalog-api/operations.ts'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { runConformance } from './conformance.ts'
import { findFailures } from './find-failures.ts'

const timeout = 600_000

it('the bundled catalog behind the gateway conforms', { timeout }, async () => {
  const { url } = await runningBackend()
  const gateway = await startGatewayBefore(url())
  const credentials = { 'x-api-key': gateway.key('dev') }
  const outcomes = await runConformance({ url: gateway.url, credentials })
  // The gateway refuses every id of a multipart write that it has not sealed, before it asks the catalog for the table.
  const ofCatalog = outcomes.filter(({ operation }) => getOperation(operation).multipart !== 'names')
  // An unknown member could have an effect that no policy has seen, so the gateway refuses it.
  const refused = outcomes.filter(({ title }) => title === 'ignores an unknown member')
  expect(new Set(refused.map(({ result }) => result))).toEqual(new Set(['skipped']))
  expect(findFailures(ofCatalog.filter((outcome) => !refused.includes(outcome)))).toEqual([])
})
