import { expect, it } from 'vitest'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// The visibility of objects is cached by caller and by the facts that conditions read. A cached result must not apply
// to another caller, request or namespace.
const subjects = { any: true } as const
const seeing = (namespace: string, more: Partial<WrittenRule>) =>
  policyOf([namespace], [ruleFor([], ['DescribeTable'], { subjects, ...more })])
const shared = useSharedGateway({
  users: ['ann', 'bob', 'cas', 'dan'],
  policies: [
    allowEverything,
    policyOf([], [ruleFor([], ['ListTables'], { subjects })]),
    seeing('named', { subjects: { users: ['cas'] } }),
    seeing('principal', { when: 'principal.name == "ann"' }),
    seeing('context', { when: '"team" in context && context["team"] == "a"' }),
    seeing('ids', { when: 'id.size() == 3 && id[1] == principal.name && id[2].startsWith("s")' }),
    seeing('tables', { tables: ['s*'] }),
  ],
})

const names = ['s1', 't1', 's2', 't2']
const catalog = serveListings({
  tables: Object.fromEntries(
    ['named', 'principal', 'context', 'ids$ann', 'ids$bob', 'tables'].map((path) => [path, names]),
  ),
})

type ListingRequest = readonly [path: string, as: string, team: string]

function getVisible([path, as, team]: ListingRequest): readonly string[] {
  const some = names.filter((name) => name.startsWith('s'))
  if (path === 'named') return as === 'cas' ? names : []
  if (path === 'principal') return as === 'ann' ? names : []
  if (path === 'context') return team === 'a' ? names : []
  if (path === 'tables') return some
  return path === `ids$${as}` ? some : []
}

const requests: ListingRequest[] = ['named', 'principal', 'context', 'ids$ann', 'ids$bob', 'tables'].flatMap(
  (path) =>
    ['ann', 'bob', 'cas', 'dan'].flatMap((as) => ['a', 'b'].map((team): ListingRequest => [path, as, team])),
)

it.each<[order: string, requests: readonly ListingRequest[]]>([
  ['in order', [...requests, ...requests]],
  ['in reverse order', [...requests, ...requests].toReversed()],
])('every caller sees only its own visible objects, %s', async (_order, requests) => {
  shared.upstream.handler = catalog
  for (const request of requests) {
    const [path, as, team] = request
    const { json } = await shared.gateway.get(`/v1/namespace/${path}/table/list`, {
      as,
      headers: { 'x-catalog-ctx-team': team },
    })
    const { tables = [] } = json as { tables?: string[] }
    expect([request, tables]).toEqual([request, getVisible(request)])
  }
})
