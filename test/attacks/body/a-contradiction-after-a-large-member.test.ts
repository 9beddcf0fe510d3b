import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'

// A contradiction to the route may follow all other members, when most of the body has been read. Nothing of such a body
// is sent.
const shared = useSharedGateway()
const query = '/v1/table/sandbox%24orders/query'
const large = `"vector":[${`${'0.25'.padEnd(40, '0')},`.repeat(20_000)}0.5]`

it.each<[label: string, end: string, says: RegExp]>([
  ['another id', ',"id":["production","orders"]}', /"id" is \["production","orders"\] in the body/],
  ['an id in other letters', ',"ID":["production"]}', /is ambiguous; write "id"/],
  ['a query in the query', ',"query":{"id":["production","orders"]}}', /has no member "query"/],
  ['an unknown member', ',"k":1,"unheard_of":1}', /has no member "unheard_of"/],
  ['a reserved context key', ',"context":{"\\u0067ateway-user":"root"}}', /is reserved for the gateway/],
  ['a branch that is a path', ',"branch":"../x"}', /is not a valid branch name/],
  ['an object behind it', '}{"id":["production","orders"]}', /not valid JSON/],
])('%s is rejected', async (_label, end, says) => {
  const { gateway, upstream } = shared
  expectError(await gateway.post(query, { body: `{${large}${end}` }), { kind: 'InvalidInput', says })
  expect(upstream.requests).toEqual([])
})

it('forwards the body without an identity after it, and a context that a header overrides', async () => {
  const { gateway, upstream } = shared
  const end =
    ',"id":["sandbox","orders"], "identity" : {"api_key":"k"} ,"context":{"Trace":"1","b":"2"},"k":3}'
  const headers = { 'x-catalog-ctx-trace': '7' }
  expect(await gateway.post(query, { body: `{${large}${end}`, headers })).toMatchObject({ status: 200 })
  expect(String(await upstream.requests[0]?.body)).toBe(
    `{${large},"id":["sandbox","orders"] ,"context":{"b":"2"},"k":3}`,
  )
})
