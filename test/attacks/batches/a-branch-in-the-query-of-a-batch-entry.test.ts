import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createChangePolicy } from '../support/policy-templates.ts'

// A member that no entry has satisfied a rule on branches, but the catalog changed main.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createChangePolicy('lake')],
})

const id = ['lake', 'orders']
const version = { id, version: 2, manifest_path: 'lake/orders/_versions/2' }
const entries: Readonly<Record<string, object>> = {
  declare_table: { id },
  create_table_version: version,
  delete_table_versions: { id, ranges: [{ start_version: 0, end_version: -1 }] },
  deregister_table: { id },
}
const facts = {
  branch: 'ci/x',
  tag: 'ci/x',
  mode: 'append',
  behavior: 'restrict',
  location: 'lake/orders',
  manifest_path: 'lake/orders/_versions/2',
  metadata: { ticket: 'T' },
  properties: { env: 'dev' },
}

it.each(Object.entries(facts))('rejects "query":{%j:...} in an entry', async (name, value) => {
  const query = { [name]: value }
  const says = /has no member "(?:operations\.\w+|entries)\.query" in its body; omit it/
  const refused = async (target: string, body: object): Promise<void> =>
    attacked.expectRefused({ as: 'ci', target, body }, { kind: 'InvalidInput', says })
  for (const [member, entry] of Object.entries(entries)) {
    await refused('/v1/table/batch-commit', { operations: [{ [member]: { ...entry, query } }] })
  }
  await refused('/v1/table/version/batch-create', { entries: [{ ...version, query }] })
})

it.each(['delete_table_versions', 'create_table_version'])(
  '%s is allowed on a branch, and denied on main',
  async (member) => {
    const target = '/v1/table/batch-commit'
    const body = (more: object): object => ({ operations: [{ [member]: { ...entries[member], ...more } }] })
    await attacked.expectForwarded({ as: 'ci', target, body: body({ branch: 'ci/x' }) })
    await attacked.expectRefused(
      { as: 'ci', target, body: body({}) },
      { kind: 'PermissionDenied', says: /\(operations\[0\]/ },
    )
  },
)
