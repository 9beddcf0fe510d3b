import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createChangePolicy } from '../support/policy-templates.ts'

// Deregistering a table and registering another dataset with its name replaces main.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createChangePolicy('lake'), createChangePolicy('released', 'branch == "release"')],
})

it.each<[path: string, body: string]>([
  ['table/%$t/deregister', '{}'],
  ['table/batch-commit', '{"operations":[{"deregister_table":{"id":["%","t"]}}]}'],
  ['table/%$t/register', '{"location":"t.lance","mode":"Create"}'],
  ['table/%$t/register', '{"location":"t.lance"}'],
  ['table/%$t/rename', '{"new_table_name":"u"}'],
  ['table/%$t/rename', '{"new_table_name":"u","new_namespace_id":["elsewhere"]}'],
  ['materialized_view/%$v/create', '{"kind":"query","source_query":"q","output_schema":""}'],
  ['materialized_view/%$v/refresh', '{}'],
  ['transaction/%$t$1/alter', '{"actions":[{"setStatusAction":{"status":"Canceled"}}]}'],
  ['table/%$t/drop', '{}'],
  ['table/%$t/tags/update', '{"tag":"v1","version":1}'],
  ['table/%$t/tags/delete', '{"tag":"v1"}'],
])('%s with %s is denied', async (path, body) => {
  for (const namespace of ['lake', 'released']) {
    const [target = '', sent = ''] = [path, body].map((text) => text.replace('%', namespace))
    const expected = { kind: 'PermissionDenied', says: 'not allowed' } as const
    await attacked.expectRefused({ as: 'ci', target: `/v1/${target}`, body: sent }, expected)
  }
})
