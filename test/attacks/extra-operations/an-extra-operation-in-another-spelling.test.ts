import { it } from 'vitest'
import { withExtraOperations } from '../../gateway/support/extra-operations.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// The declared path is matched byte by byte, so that a rule for one operation never admits a request for another one.
const attacked = attackedGateway(withExtraOperations)

it.each([
  '/v1/table/sandbox$orders/Mirror',
  '/v1/table/sandbox$orders/cl%6Fne',
  '/v1/table/sandbox$orders//mirror',
  '/v1/table/sandbox$orders/mirror//',
  '/v1/table/sandbox$orders/mirror;x',
  '/v1/table/sandbox$orders/./mirror',
  '/v1/table/sandbox$orders/mirror/../drop',
  '/v1/table/sandbox$orders/file_cache%2Fprewarm',
  '/v1/table/sandbox$orders/file-cache/prewarm',
  '/V1/table/sandbox$orders/mirror',
  '/v1/namespace/sandbox$orders/mirror',
  '/v1/table/sandbox/orders/mirror',
])('%s is an unknown route', async (target) => {
  await attacked.expectRefused(
    { as: 'dev', target },
    { kind: 'Unsupported', status: target.startsWith('/v1/') ? 406 : 404, says: 'unknown route' },
  )
})
