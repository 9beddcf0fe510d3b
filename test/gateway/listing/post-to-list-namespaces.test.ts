import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// The text of the interface shows POST for a listing whose official method is GET.

/** `ann` may see the namespaces whose names begin with `s`. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    allowEverything,
    policyOf([], [ruleFor(['ann'], ['ListNamespaces'])]),
    ...['s1', 's2', 's3'].map((name) => policyOf([name], [ruleFor(['ann'], ['DescribeNamespace'])])),
  ],
})
const target = '/v1/namespace/$/list'

function serve(): void {
  shared.upstream.handler = serveListings({ namespaces: { '': ['h1', 's1', 's2', 's3'] } })
}

async function post(body?: object | string, query = '') {
  const response = await shared.gateway.post(target + query, {
    as: 'ann',
    ...(body !== undefined && { body }),
  })
  expect(response, response.bytes.toString()).toMatchObject({ status: 200 })
  return response.json as { namespaces: string[]; page_token?: string }
}

it('lists what the caller may see, with and without a body, and sends GET to the catalog', async () => {
  serve()
  for (const body of [undefined, '', '{}', 'null', '{"id":[]}', '{"id":null,"limit":null,"page_token":""}'])
    expect(await post(body)).toEqual({ namespaces: ['s1', 's2', 's3'] })
  expect(shared.upstream.requests.at(-1)).toMatchObject({ method: 'GET' })
})

it('pages by the members of the body, and by the query', async () => {
  serve()
  const first = await post({ limit: 2 })
  expect(first.namespaces).toEqual(['s1', 's2'])
  const token = first.page_token
  expect(await post({ page_token: token, limit: 2 })).toEqual({ namespaces: ['s3'] })
  expect(await post({ page_token: token }, '?limit=2')).toEqual({ namespaces: ['s3'] })
  expect(await post({ limit: 2 }, '?limit=2')).toMatchObject({ namespaces: ['s1', 's2'] })
})

it.each([
  [{ id: ['other'] }, '', 'id'],
  [{ limit: 2 }, '?limit=3', 'limit'],
  [{ limit: '2' }, '', 'limit'],
  [{ page_token: 7 }, '', 'page_token'],
  [{ branch: 'x' }, '', 'branch'],
  [{ page_token: 'x'.repeat(1024 * 1024), filler: 'x' }, '', 'larger than'],
])('refuses the body %j with the query "%s"', async (body, query, says) => {
  serve()
  const before = shared.upstream.requests.length
  const response = await shared.gateway.post(target + query, { as: 'ann', body })
  expectError(response, { kind: 'InvalidInput', says, ...(says.startsWith('larger') && { status: 413 }) })
  expect(shared.upstream.requests).toHaveLength(before)
})
