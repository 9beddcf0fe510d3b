import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A router sees one id where `new URL()` in a proxy sees segments: a request authorized for `sandbox` would act on
// `production`.
const attacked = attackedGateway()

it.each([
  '/v1/table/sandbox$x\\..\\production/version/create',
  '/v1/table/sandbox$x\\version/create',
  '/v1/table/production\\version\\create',
  '\\v1\\table\\production\\drop',
  '/v1/table/sandbox$x/describe?\\..\\..\\production/drop',
])('rejects the target %s', async (target) => {
  await attacked.expectRefused(
    { target },
    { kind: 'InvalidInput', says: /must be percent-encoded|malformed HTTP/ },
  )
})

it.each(['%5C', '%5c', '%5C..%5C'])('rejects an encoded backslash: %s', async (text) => {
  await attacked.expectRefused(
    { target: `/v1/table/sandbox$x${text}production/describe` },
    { kind: 'InvalidInput', says: /contains "\\\\", which is not allowed in a name$/ },
  )
})

it('forwards a backslash in a parameter value encoded', async () => {
  const target = '/v1/table/sandbox%24orders/tags/list?page_token=a%5C..%5Cb'
  const arrival = await attacked.expectForwarded({ method: 'GET', target })
  expect(arrival.target).toBe('/v1/table/sandbox%24orders/tags/list?page_token=a%5C..%5Cb')
})
