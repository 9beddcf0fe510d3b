import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// A member, parameter or header counted as a fact, although its operation does not have it there. Every operation with every
// name in every place is in gateway/facts/misplaced-facts.test.ts.
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
  await attacked.expectRefused({ ...attack, as: 'ci' }, { kind: 'PermissionDenied', says: 'not allowed' })
  const says = `does not accept member "${name}" of the body; omit it`
  await attacked.expectRefused({ ...attack, as: 'dev' }, { kind: 'InvalidInput', says })
})

const version = { id: ['lake', 'orders'], version: 2, manifest_path: 'lake/orders/_versions/2' }
const properties = 'x-catalog-table-properties: {"env":"dev"}'

it.each<[attack: string, target: string, body: object, says: string, lines?: string[]]>([
  [
    'a fact applied to a cascade',
    '/v1/namespace/lake/drop',
    { behavior: 'Cascade', branch: 'ci/x' },
    'DropNamespace does not accept member "branch" of the body; omit it',
  ],
  [
    'a parameter applied to a cascade',
    '/v1/namespace/lake/drop?behavior=restrict',
    { behavior: 'Cascade' },
    'DropNamespace does not accept query parameter',
  ],
  [
    'a table header on another operation',
    '/v1/table/labelled$t/declare',
    {},
    'send it as the member "properties" of the body',
    [properties],
  ],
  [
    'a table header on an operation without that fact',
    '/v1/table/labelled$t/delete',
    { predicate: 'true' },
    'does not accept header ".*"; omit it',
    [properties],
  ],
  [
    'a branch in the query of a batch entry',
    '/v1/table/version/batch-create',
    { entries: [{ ...version, query: { branch: 'ci/x' } }] },
    'has no member "entries.query" in its body; omit it',
  ],
])('%s is refused', async (_attack, target, body, says, lines = []) => {
  await attacked.expectRefused({ as: 'ci', target, body, lines }, { kind: 'InvalidInput', says })
})

it.each(['{"behavior":"Cascade"}', '{"mode":"Skip","behavior":"Cascade"}'])(
  'the mode of a cascade does not apply to the objects below: %s',
  async (body) => {
    const attack = { as: 'ci', target: '/v1/namespace/skipping/drop', body }
    await attacked.expectRefused(attack, { kind: 'PermissionDenied', says: 'not allowed Drop' })
  },
)

it('a forged behavior is not in the audit log', async () => {
  const attack = { as: 'ci', target: '/v1/table/open$t/drop' }
  const says = 'DropTable does not accept member "behavior" of the body; omit it'
  await attacked.expectRefused({ ...attack, body: '{"behavior":"restrict"}' }, { kind: 'InvalidInput', says })
  await attacked.expectForwarded({ ...attack, body: '{}' })
  const intents = ofKind(await recordsOf(attacked.gateway.auditFolder), 'intent')
  expect(intents).toHaveLength(1)
  expect(JSON.stringify(intents)).not.toContain('restrict')
})
