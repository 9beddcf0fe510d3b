import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// A member, parameter or header counted as a fact, although its operation does not have it there. Every operation with every
// name in every place is in catalog-api/facts-table.test.ts.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('lake', undefined, { users: ['dev'] }),
    createAllowPolicy('appending', 'mode == "append"'),
    createAllowPolicy('labelled', 'properties["env"] == "dev"'),
    createAllowPolicy('skipping', 'mode == "skip" || behavior == "restrict"'),
    createAllowPolicy('open'),
  ],
})

it.each([
  ['a fact of another operation', 'appending$t/delete', '{"predicate":"true","mode":"append"}', 'mode'],
  ['a branch for a whole table', 'lake$t/drop', '{"branch":"ci/x"}', 'branch'],
])('%s satisfies no rule, and is refused from a caller without one', async (_attack, path, body, name) => {
  const attack = { target: `/v1/table/${path}`, body }
  await attacked.expectDenied({ ...attack, as: 'ci' }, 'not allowed')
  const says = `does not accept member "${name}" of the body; omit it`
  await attacked.expectInvalid({ ...attack, as: 'dev' }, says)
})

const properties = 'x-catalog-table-properties: {"env":"dev"}'

it.each<[attack: string, target: string, body: object, says: string, lines?: string[]]>([
  [
    'a parameter applied to a cascade',
    '/v1/namespace/lake/drop?behavior=restrict',
    { behavior: 'Cascade' },
    'DropNamespace does not accept query parameter',
  ],
  [
    'a table header on an operation without that fact',
    '/v1/table/labelled$t/delete',
    { predicate: 'true' },
    'does not accept header ".*"; omit it',
    [properties],
  ],
  [
    'a fact of another operation in an explained query',
    '/v1/table/open$t/explain_plan',
    { query: { k: 1, mode: 'append' } },
    'does not accept member "query.mode" of the body; omit it',
  ],
])('%s is refused', async (_attack, target, body, says, lines = []) => {
  await attacked.expectInvalid({ as: 'ci', target, body, lines }, says)
})

it.each(['{"behavior":"Cascade"}', '{"mode":"Skip","behavior":"Cascade"}'])(
  'the mode of a cascade does not apply to the objects below: %s',
  async (body) => {
    const attack = { as: 'ci', target: '/v1/namespace/skipping/drop', body }
    await attacked.expectDenied(attack, 'not allowed Drop')
  },
)
