import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// An update of a branch also changed the properties of the whole table.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('required'),
    createChangePolicy('released', 'branch == "release"'),
    createAllowPolicy('allowed', 'branch.like("ci/*")'),
  ],
})
const update = '"updates":[["id","1"]]'

it.each(['required', 'released', 'allowed'])(
  'an update of a branch changes no properties in %s',
  async (namespace) => {
    const attack = { as: 'ci', target: `/v1/table/${namespace}$t/update` }
    const expected = { kind: 'PermissionDenied', says: 'not allowed UpdateTable' } as const
    for (const properties of ['{"env":"dev"}', '{}']) {
      const body = `{"branch":"ci/a",${update},"properties":${properties}}`
      await attacked.expectRefused({ ...attack, body }, expected)
      await attacked.expectRefused(
        { ...attack, body: `{"properties":${properties},${update},"branch":"ci/a"}` },
        expected,
      )
    }
    await attacked.expectForwarded({ ...attack, body: `{"branch":"ci/a",${update}}` })
  },
)
