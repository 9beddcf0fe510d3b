import { it } from 'vitest'
import { withExtraOperations } from '../../gateway/support/extra-operations.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Policies see no facts of an extra operation, and its upstream might act on them.
const attacked = attackedGateway(withExtraOperations)
const target = '/v1/table/sandbox$orders/mirror'

it.each([
  ['branch', 'ci/x'],
  ['tag', 'v1'],
  ['name', 'ci/x'],
  ['from_branch', 'main'],
  ['location', 's3://elsewhere/t'],
  ['properties', { location: 's3://elsewhere/t' }],
  ['storage_options', { endpoint: 'https://elsewhere' }],
  ['vend_credentials', true],
  ['mode', 'overwrite'],
  ['new_table_name', 'vault'],
  ['new_namespace_id', ['production']],
  ['index_name', 'i'],
  ['job_id', 'job-7'],
  ['query', { branch: 'ci/x' }],
  ['entries', [{ id: ['production', 't'] }]],
  ['operations', [{ declare_table: { id: ['production', 't'] } }]],
])('the member %s of the body is refused', async (name, value) => {
  const says = new RegExp(`MirrorTable (has no member|does not accept member) "${name}"`)
  await attacked.expectRefused({ as: 'dev', target, body: { [name]: value } }, { kind: 'InvalidInput', says })
})

it('the member is refused in another spelling, and as a query parameter', async () => {
  const spelled = { as: 'dev', target, body: { Branch: 'ci/x' } }
  await attacked.expectRefused(spelled, { kind: 'InvalidInput', says: 'has no member "Branch"' })
  const inQuery = { as: 'dev', target: `${target}?branch=ci%2Fx` }
  await attacked.expectRefused(inQuery, { kind: 'InvalidInput', says: 'branch' })
})
