import { expect, it } from 'vitest'
import { getOperation } from '../../src/catalog-api/operations.ts'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { runConformance } from './conformance.ts'
import { findFailures } from './find-failures.ts'

const timeout = 600_000

/** The case that the gateway fails on purpose: an unknown member could have an effect that no policy has seen. */
const ignoring = 'ignores an unknown member'

it('the bundled catalog behind the gateway conforms, but refuses unknown members', { timeout }, async () => {
  const { url } = await runningBackend()
  const gateway = await startGatewayBefore(url())
  const credentials = { 'x-api-key': gateway.key('dev') }
  const outcomes = await runConformance({ url: gateway.url, credentials })
  // The gateway refuses every id of a multipart write that it has not sealed, before it asks the catalog for the table.
  const ofCatalog = outcomes.filter(({ operation }) => getOperation(operation).multipart !== 'names')
  expect(findFailures(ofCatalog.filter(({ title }) => title !== ignoring))).toEqual([])
  // RegisterTable passes, as it may report an invalid location first.
  const refused = outcomes.filter(
    ({ operation, title }) => title === ignoring && operation !== 'RegisterTable',
  )
  expect(refused.length).toBeGreaterThan(0)
  for (const { operation, result, message } of refused) {
    expect([operation, result]).toEqual([operation, 'failed'])
    expect(message).toContain(`found 400 code 13: {"error":"${operation} has no member`)
  }
})
