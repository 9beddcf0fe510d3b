import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy } from '../support/policy-templates.ts'

// The audit record of a drop contained a member that the caller had invented.
const attacked = attackedGateway({ users: ['ci'], policies: [createAllowPolicy('lake')] })

it('does not record a behavior that a drop does not have', async () => {
  const attack = { as: 'ci', target: '/v1/table/lake$t/drop' }
  const says = 'DropTable does not accept member "behavior" of the body; omit it'
  await attacked.expectRefused({ ...attack, body: '{"behavior":"restrict"}' }, { kind: 'InvalidInput', says })
  await attacked.expectRefused(
    { ...attack, body: '{"reason":"restrict"}' },
    { kind: 'InvalidInput', says: 'DropTable has no member "reason" in its body' },
  )
  await attacked.expectForwarded({ ...attack, body: '{}' })
  const intents = ofKind(await recordsOf(attacked.gateway.auditFolder), 'intent')
  expect(intents).toHaveLength(1)
  expect(JSON.stringify(intents)).not.toContain('restrict')
})
