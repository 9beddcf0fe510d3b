import { beforeEach, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

/** `ann` may see the tables whose names begin with `s`. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [allowEverything, policyOf([], [ruleFor(['ann'], ['DescribeTable'], { tables: ['s*'] })])],
})
const lancedb = { 'x-lancedb-database': 'any' }

beforeEach(() => {
  shared.upstream.handler = serveListings({
    allTables: ['a$s1', 'a$s2', 'h1', 's1', 's2', 's2$s', 's3', 'z$s4'],
  })
})

async function list(query: string, headers: Record<string, string>) {
  const response = await shared.gateway.get(`/v1/table/${query}`, { as: 'ann', headers })
  return response.json as { tables?: string[]; page_token?: string; error?: string }
}

it('a client of LanceDB gets the names of the root from an upstream that lists all ids', async () => {
  expect(await list('?limit=10', lancedb)).toEqual({ tables: ['s1', 's2', 's3'] })
  const { json } = await shared.gateway.get('/v1/table/?limit=10')
  expect(json).toEqual({ tables: ['a$s1', 'a$s2', 'h1', 's1', 's2', 's2$s', 's3', 'z$s4'] })
})

it('the limit counts names of the root, and a page ends where the next begins', async () => {
  const first = await list('?limit=2', lancedb)
  expect(first).toEqual({ tables: ['s1', 's2'], page_token: expect.any(String) })
  const token = encodeURIComponent(first.page_token ?? '')
  expect(await list(`?limit=2&page_token=${token}`, lancedb)).toEqual({ tables: ['s3'] })
  expect(await list('?limit=3', lancedb)).toEqual({ tables: ['s1', 's2', 's3'] })
  // The client sends the last name that it got.
  expect(await list('?limit=2&page_token=s1', lancedb)).toEqual({ tables: ['s2', 's3'] })
})

it('a page token is valid for listings of the same kind of client only', async () => {
  const { page_token: token = '' } = await list('?limit=1', lancedb)
  expect((await list(`?page_token=${encodeURIComponent(token)}`, {})).error).toContain('invalid page_token')
})
