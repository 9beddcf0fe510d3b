import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy, createDenyPolicy } from '../support/policy-templates.ts'

// A change of a whole table changes every branch. Every such change is in catalog-api/facts-table.test.ts, and the
// permissions that it requires in gateway/authorization/required-permissions-as-documented.test.ts.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('lake'),
    createChangePolicy('released', 'branch == "release"'),
    createAllowPolicy('allowed', 'branch.like("ci/*")'),
    createDenyPolicy('denied', ['DropTable'], 'branch == "main"'),
  ],
})
const denied = { kind: 'PermissionDenied', says: 'not allowed' } as const
const update = '"branch":"ci/a","updates":[["id","1"]]'

it.each<[attack: string, path: string, body: string]>([
  ['a table deregistered', 'table/%$t/deregister', '{}'],
  ['a table replaced by another dataset', 'table/%$t/register', '{"location":"t.lance"}'],
  ['a tag moved with a branch', 'table/%$t/tags/update', '{"tag":"v1","version":1,"branch":"ci/x"}'],
  ['properties changed with a branch', 'table/%$t/update', `{${update},"properties":{"env":"dev"}}`],
  ['empty properties changed before a branch', 'table/%$t/update', `{"properties":{},${update}}`],
])('%s is denied', async (_attack, path, sent) => {
  for (const namespace of ['lake', 'released', 'allowed']) {
    const [target = '', body = ''] = [path, sent].map((text) => text.replace('%', namespace))
    await attacked.expectRefused({ as: 'ci', target: `/v1/${target}`, body }, denied)
  }
})

it.each(['lake', 'denied'])('a namespace dropped past a rule on main is denied in %s', async (namespace) => {
  // Also a namespace without a policy of its own.
  for (const name of [namespace, `${namespace}$inner`]) {
    const target = `/v1/namespace/${name}`
    await attacked.expectRefused(
      { as: 'ci', target: `${target}/drop`, body: { behavior: 'Cascade' } },
      denied,
    )
    await attacked.expectRefused(
      { as: 'ci', target: `${target}/create`, body: { mode: 'Overwrite' } },
      denied,
    )
  }
  const target = `/v1/namespace/${namespace}/drop`
  await attacked.expectForwarded({ as: 'ci', target, body: { behavior: 'Restrict' } })
})
