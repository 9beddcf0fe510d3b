import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// With `delimiter=.` the id `sandbox$x.t` names a namespace called "sandbox$x"; a catalog that joins names with `$`
// takes it for the namespace x in sandbox. An upstream that splits differently sees another object.
const attacked = attackedGateway()

it.each([
  [
    'a part that holds the delimiter of the upstream',
    'production$orders',
    'delimiter=.',
    /"production\$orders"/,
  ],
  ['such a part beneath what is allowed', 'sandbox.a$b', 'delimiter=.', /"a\$b"/],
  ['an encoded one', 'sandbox.a%24b', 'delimiter=.', /"a\$b"/],
  ['the root of the default', '%24', 'delimiter=.', /"\$"/],
  ['two delimiters', 'production.orders', 'delimiter=.&delimiter=$', /"delimiter" is repeated/],
  ['another spelling', 'production.sandbox$x', 'Delimiter=.', /unknown query parameter "Delimiter"/],
  ['another separator', 'sandbox$orders', 'limit=1;delimiter=.', /unknown query parameter "limit"/],
])('%s is refused', async (_label, id, query, says) => {
  await attacked.expectInvalid({ target: `/v1/table/${id}/describe?${query}` }, says)
})

it.each([
  ['sandbox.orders', '.'],
  ['sandbox::orders', '::'],
  ['sandbox orders'.replace(' ', '%20'), '%20'],
])('%s with the delimiter %s is authorized and forwarded in canonical form', async (id, delimiter) => {
  const arrival = await attacked.expectForwarded({
    target: `/v1/table/${id}/describe?delimiter=${delimiter}`,
  })
  expect(arrival.target).toBe('/v1/table/sandbox%24orders/describe')
})

it('the body has no delimiter: the id in it is a list', async () => {
  await attacked.expectInvalid(
    { body: { delimiter: '.', id: ['sandbox', 'orders'] } },
    'DescribeTable has no member "delimiter" in its body; omit it',
  )
  await attacked.expectInvalid(
    { body: { id: 'sandbox.orders' } },
    /"id" in the body is .*expected a list of strings/,
  )
})
