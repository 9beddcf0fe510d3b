import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// Tables and views share their names, so the operations on tables remove views, too.
const namedKinds = ['DropTable', 'DropView', 'DropMaterializedView', 'DeregisterTable', 'RenameTable']
const policies = [
  ...[...namedKinds, 'DropFunction', 'DropSecret'].map((operation) =>
    policyOf([operation], [ruleFor(['al']), ruleFor(['al'], [operation], { effect: 'deny' })]),
  ),
  policyOf(['reserved'], [], { final: ['DropView'] }),
  policyOf(['reserved', 'own'], [ruleFor(['al'])]),
  policyOf(['partly'], [ruleFor(['al'], ['DropNamespace', 'DropTable'])]),
]
const removals: readonly (readonly [target: string, body: object])[] = [
  ['/v1/table/N$m/drop', {}],
  ['/v1/view/N$m/drop', {}],
  ['/v1/materialized_view/N$m/drop', {}],
  ['/v1/table/N$m/deregister', {}],
  ['/v1/table/N$m/rename', { new_table_name: 'm2' }],
  ['/v1/table/batch-commit', { operations: [{ deregister_table: { id: ['N', 'm'] } }] }],
]
const cascades: readonly (readonly [target: string, body: object])[] = [
  ['/v1/namespace/N/drop', { behavior: 'Cascade' }],
  ['/v1/namespace/N/create', { mode: 'Overwrite' }],
]
const refused = { kind: 'PermissionDenied', says: /not allowed \w+/ } as const

const attacked = attackedGateway({ users: ['al'], policies })

it.each(namedKinds)('a deny of %s denies every removal of a name', async (operation) => {
  for (const [target, body] of [...removals, ...cascades]) {
    const sent = JSON.parse(JSON.stringify(body).replace('"N"', JSON.stringify(operation))) as object
    await attacked.expectRefused({ as: 'al', target: target.replace('N', operation), body: sent }, refused)
  }
})

it.each(['Function', 'Secret'])('a deny of Drop%s denies cascades; its names are others', async (kind) => {
  for (const [target, body] of cascades) {
    await attacked.expectRefused({ as: 'al', target: target.replace('N', `Drop${kind}`), body }, refused)
  }
  await attacked.expectForwarded({ as: 'al', target: `/v1/table/Drop${kind}$m/drop` })
  await attacked.expectForwarded({
    as: 'al',
    target: `/v1/${kind.toLowerCase()}/DropTable$f/drop`,
    body: {},
  })
})

it('an operation that is reserved reserves the others', async () => {
  const target = '/v1/table/reserved$own$m/drop'
  await attacked.expectRefused({ as: 'al', target }, refused)
})

it.each(['Cascade', 'cascade'])('%s needs the permission to drop each kind of object', async (behavior) => {
  await attacked.expectDenied(
    { as: 'al', target: '/v1/namespace/partly/drop', body: { behavior } },
    /not allowed DropMaterializedView \(behavior Cascade\)/,
  )
})
