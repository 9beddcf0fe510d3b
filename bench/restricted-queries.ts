import { parseTarget } from '../src/catalog-api/request-target.ts'
import { restrictRequest } from '../src/gateway/restrictions/restrict-request.ts'
import { compilePolicySet, createAuthorizationRequest, createCaller } from '../test/policy/policy-builder.ts'
import { quantile, rounded } from './statistics.ts'

/*
 * Measures what a restriction adds to a query: finding it, parsing and printing the filter, and rewriting the body.
 * Prints medians of samples of 20 queries, with the rounds of all queries interleaved, and their ratio to the decision alone and
 * to parsing the body as JSON, which a restriction also needs.
 */

const samples = 2000
const queriesInSample = 20

const policies = compilePolicySet([
  {
    name: 'crm',
    namespace: ['crm'],
    restrict: [
      {
        id: 'analysts',
        subjects: { groups: ['analysts'] },
        tables: ['cust*'],
        columns: {
          id: 'number',
          name: 'text',
          'person.city': 'text',
          born: 'date',
          ok: 'boolean',
          v: 'other',
        },
        rows: "region = 'EU' and tenant in $principal.claims.tenants",
      },
    ],
    rules: [{ id: 'read', effect: 'allow', subjects: { groups: ['analysts'] }, operations: ['read'] }],
  },
])
const principal = { ...createCaller('ann', 'analysts'), claims: { tenants: ['a', 'b'] } }
const route = parseTarget('POST', '/v1/table/crm$customers/query')

const vector = Array.from({ length: 768 }, (_, index) => index / 768)
const queries: Readonly<Record<string, object>> = {
  'all rows': { k: 100 },
  'one condition': { k: 100, filter: 'id = 7', columns: ['id', 'name'] },
  'five conditions': {
    k: 100,
    filter:
      "(person.city = 'Oslo' or lower(name) like 'a%') and ok and id between 1 and 1000 and born > date '2000-01-01'",
    columns: { a: 'upper(name)', id: 'id' },
    order_by: [{ column_name: 'id' }],
  },
  'a list of 200 ids': { filter: `id in (${Array.from({ length: 200 }, (_, id) => id).join()})` },
  'a search by a vector of 768 numbers': { vector, vector_column: 'v', k: 10, filter: 'ok' },
}

const decide = (): void => {
  const request = createAuthorizationRequest(principal, 'QueryTable', 'table', ['crm', 'customers'])
  policies.decide(request)
}

function restrict(members: object, bytes: Buffer): void {
  const request = createAuthorizationRequest(principal, 'QueryTable', 'table', ['crm', 'customers'])
  policies.decide(request)
  const restriction = policies.findRestriction(request)
  if (restriction === undefined) throw new Error('the query is not restricted')
  restrictRequest({ route, head: { isLancedb: true } }, { ...members }, { form: 'bytes', bytes }, restriction)
}

const measured = Object.entries(queries).map(([query, members]) => {
  const bytes = Buffer.from(JSON.stringify(members))
  const steps = [decide, () => restrict(members, bytes), () => void JSON.parse(bytes.toString())]
  return { query, steps, times: steps.map((): number[] => []) }
})
for (let sample = 0; sample < samples; sample += 1) {
  for (const { steps, times } of measured) {
    for (const [index, step] of steps.entries()) {
      const startedAt = performance.now()
      for (let run = 0; run < queriesInSample; run += 1) step()
      times[index]?.push(((performance.now() - startedAt) * 1000) / queriesInSample)
    }
  }
}

console.table(
  measured.map(({ query, times }) => {
    const [decision = 0, restricted = 0, parsing = 0] = times.map((each) => quantile(each, 0.5))
    return {
      query,
      'decision us': rounded(decision),
      'decision and restriction us': rounded(restricted),
      'times the decision': rounded(restricted / decision),
      'times parsing as JSON': rounded(restricted / parsing),
    }
  }),
)
