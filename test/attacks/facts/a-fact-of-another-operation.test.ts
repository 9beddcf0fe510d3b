import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy } from '../support/policy-templates.ts'

// Any member with the name of a fact counted, whatever the operation.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createAllowPolicy('appending', 'mode == "append"'),
    createAllowPolicy('restricting', 'behavior == "restrict"'),
    createAllowPolicy('public', 'tag == "pub"'),
    createAllowPolicy('ticketed', '"ticket" in metadata'),
    createAllowPolicy('staging', 'manifestPath.isUnder("lake")'),
    createAllowPolicy('placed', 'location.isUnder("lake")'),
    createAllowPolicy('labelled', 'properties["env"] == "dev"'),
  ],
})

it.each([
  ['/v1/table/appending$t/delete', '{"predicate":"true","mode":"append"}', 'mode'],
  ['/v1/table/restricting$t/drop', '{"behavior":"restrict"}', 'behavior'],
  ['/v1/table/public$t/count_rows', '{"tag":"pub"}', 'tag'],
  ['/v1/table/ticketed$t/delete', '{"predicate":"true","metadata":{"ticket":"T"}}', 'metadata'],
  [
    '/v1/table/staging$t/delete',
    '{"predicate":"true","manifest_path":"lake/t/_versions/1"}',
    'manifest_path',
  ],
  ['/v1/table/placed$t/delete', '{"predicate":"true","location":"lake/t"}', 'location'],
  ['/v1/table/labelled$t/delete', '{"predicate":"true","properties":{"env":"dev"}}', 'properties'],
])('%s with %s is rejected', async (target, body, name) => {
  await attacked.expectRefused({ as: 'ci', target, body }, { kind: 'PermissionDenied', says: 'not allowed' })
  const says = `does not accept member "${name}" of the body; omit it`
  await attacked.expectRefused({ as: 'dev', target, body }, { kind: 'InvalidInput', says })
})
