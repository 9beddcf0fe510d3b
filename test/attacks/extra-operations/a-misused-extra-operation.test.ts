import { expect, it } from 'vitest'
import { withExtraOperations } from '../../gateway/support/extra-operations.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

const attacked = attackedGateway(withExtraOperations)
const target = '/v1/table/sandbox$orders/mirror'

// Policies see no facts of an extra operation, and its upstream might act on them.
const facts: Readonly<Record<string, unknown>> = {
  branch: 'ci/x',
  location: 's3://elsewhere/t',
  properties: { location: 's3://elsewhere/t' },
  vend_credentials: true,
  mode: 'overwrite',
  new_namespace_id: ['production'],
  query: { branch: 'ci/x' },
  entries: [{ id: ['production', 't'] }],
  Branch: 'ci/x',
}

it.each(Object.entries(facts))('a fact in an extra operation is refused: %s', async (name, value) => {
  const says = new RegExp(`MirrorTable (has no member|does not accept member) "${name}"`)
  await attacked.expectInvalid({ as: 'dev', target, body: { [name]: value } }, says)
})

it('a fact in the query of an extra operation is refused', async () => {
  const attack = { as: 'dev', target: `${target}?branch=ci%2Fx` }
  await attacked.expectInvalid(attack, 'branch')
})

// The declared path is matched byte by byte, so that a rule for one operation never admits a request for another one.
it.each([
  '/v1/table/sandbox$orders/Mirror',
  '/v1/table/sandbox$orders/mirro%72',
  '/v1/table/sandbox$orders/mirror;x',
  '/v1/table/sandbox$orders/mirror/../drop',
  '/v1/namespace/sandbox$orders/mirror',
])('an extra operation in another spelling is an unknown route: %s', async (other) => {
  const expected = { kind: 'Unsupported', status: 406, says: 'unknown route' } as const
  await attacked.expectRefused({ as: 'dev', target: other }, expected)
})

// Some servers prefer the id in the body to that of the route.
it.each([[['production', 'orders']], [['sandbox']], ['sandbox$orders'], [{ id: 'x' }]])(
  'another id in an extra operation is refused: %j',
  async (id) => {
    await attacked.expectInvalid({ as: 'dev', target, body: { id } }, '"id"')
  },
)

it('an empty id of an extra operation is cut, and an equal one is forwarded', async () => {
  for (const [sent, forwarded] of [
    [{ id: [], note: 'x' }, { note: 'x' }],
    [{ id: ['sandbox', 'orders'] }, { id: ['sandbox', 'orders'] }],
  ]) {
    const arrival = await attacked.expectForwarded({ as: 'dev', target, body: sent ?? {} })
    expect(JSON.parse(String(await arrival.body))).toEqual(forwarded)
  }
})
