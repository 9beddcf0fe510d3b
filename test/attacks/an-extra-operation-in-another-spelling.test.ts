import { it } from 'vitest'
import { withExtraOperations } from '../gateway/support/extra-operations.ts'
import { attackedGateway } from './attacked-gateway.ts'

// The declared path is matched byte by byte, so that a rule for one operation never admits a request for another one.
const attacked = attackedGateway(withExtraOperations)

it.each([
  '/v1/table/sandbox$orders/Clone',
  '/v1/table/sandbox$orders/cl%6Fne',
  '/v1/table/sandbox$orders//clone',
  '/v1/table/sandbox$orders/clone//',
  '/v1/table/sandbox$orders/clone;x',
  '/v1/table/sandbox$orders/./clone',
  '/v1/table/sandbox$orders/clone/../drop',
  '/v1/table/sandbox$orders/page_cache%2Fprewarm',
  '/v1/table/sandbox$orders/page-cache/prewarm',
  '/V1/table/sandbox$orders/clone',
  '/v1/namespace/sandbox$orders/clone',
  '/v1/table/sandbox/orders/clone',
])('%s is an unknown route', async (target) => {
  await attacked.expectRefused(
    { as: 'dev', target },
    { kind: 'Unsupported', status: 404, says: 'unknown route' },
  )
})
