import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { attackedGateway } from './attacked-gateway.ts'
import { createAllowPolicy } from './policy-templates.ts'

// The audit record of a drop contained a member that the caller had invented.
const attacked = attackedGateway({ users: ['ci'], policies: [createAllowPolicy('lake')] })

it('does not record a behavior that a drop does not have', async () => {
  const attack = { as: 'ci', target: '/v1/table/lake$t/drop' }
  const says = 'DropTable does not accept member "behavior" of the body; omit it'
  await attacked.expectRefused({ ...attack, body: '{"behavior":"restrict"}' }, { kind: 'InvalidInput', says })
  await attacked.expectForwarded({ ...attack, body: '{"reason":"restrict"}' })
  const intents = ofKind(await recordsOf(attacked.gateway.auditFolder), 'intent')
  expect(intents).toHaveLength(1)
  expect(JSON.stringify(intents)).not.toContain('restrict')
})
