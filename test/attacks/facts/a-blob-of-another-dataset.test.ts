import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// `source_uri` names a dataset by its location, which the server reads with its own credential: any dataset of any team.
// `owner` may do everything in `sandbox`; `referrer` and `reader` also have half of the required permissions.
const attacked = attackedGateway({
  users: ['owner', 'referrer', 'reader', 'trusted'],
  policies: [
    policyOf(
      ['sandbox'],
      [
        ruleFor(['owner', 'referrer', 'reader', 'trusted']),
        ruleFor(['referrer', 'trusted'], ['ReferenceData']),
      ],
    ),
    policyOf([], [ruleFor(['reader', 'trusted'], ['ReadAnyTable'])]),
  ],
})

const blob = '/v1/table/sandbox$t/blob/image/7/bytes'
const source = 'source_uri=s3%3A%2F%2Flake%2Fproduction%2Forders.lance'

it.each([
  ['owner', String.raw`not allowed ReferenceData \(source_uri\) on "sandbox.t"`],
  ['reader', String.raw`not allowed ReferenceData \(source_uri\) on "sandbox.t"`],
  ['referrer', String.raw`not allowed ReadAnyTable \(source_uri\) on the root`],
])('is not read for %s', async (as, says) => {
  for (const query of [source, `branch=main&${source}&source_commit_micros=1&row_is_address=true&version=3`])
    await attacked.expectDenied({ as, method: 'GET', target: `${blob}?${query}` }, says)
})

it('is not described by HEAD', async () => {
  const response = await attacked.gateway.send('HEAD', `${blob}?${source}`, { as: 'owner' })
  expect(response.status).toBe(403)
  expect(attacked.upstream.requests).toEqual([])
})

it.each([
  ['an empty one', 'source_uri='],
  ['one that is repeated', `${source}&${source}`],
  ['another spelling', 'sourceUri=s3%3A%2F%2Flake%2Fx'],
  ['another case', 'SOURCE_URI=s3%3A%2F%2Flake%2Fx'],
  ['an encoded name', 'source%5Furi=&source_uri=s3%3A%2F%2Flake%2Fx'],
])('is not read by %s', async (_what, query) => {
  await attacked.expectInvalid(
    { as: 'trusted', method: 'GET', target: `${blob}?${query}` },
    'query parameter',
  )
})

it('is not named in the body of another read', async () => {
  const body = { column: 'image', row_ids: [7], source_uri: 's3://lake/production/orders.lance' }
  await attacked.expectInvalid(
    { as: 'trusted', target: '/v1/table/sandbox$t/fetch_blobs', body },
    'source_uri',
  )
  await attacked.expectInvalid(
    { as: 'trusted', target: `/v1/table/sandbox$t/query?${source}`, body: {} },
    'source_uri',
  )
})

it('is read for a caller that rules allow both', async () => {
  const arrival = await attacked.expectForwarded({
    as: 'trusted',
    method: 'GET',
    target: `${blob}?${source}`,
  })
  expect(arrival.target).toBe(`/v1/table/sandbox%24t/blob/image/7/bytes?${source}`)
})
