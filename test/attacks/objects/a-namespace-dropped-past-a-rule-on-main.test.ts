import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createChangePolicy, createDenyPolicy } from '../support/policy-templates.ts'

// The branch of a table below a dropped namespace was empty, so a rule that protects main did not match.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('required', 'branch == "main"'),
    createDenyPolicy('denied', ['DropTable'], 'branch == "main"'),
  ],
})

const drop = '{"behavior":"Cascade"}'
const create = '{"mode":"Overwrite"}'

it.each(['required', 'denied'])('denies dropping or replacing %s with its content', async (namespace) => {
  const says = 'not allowed DropTable'
  for (const [action, body] of [
    ['drop', drop],
    ['create', create],
  ]) {
    const target = `/v1/namespace/${namespace}/${action}`
    await attacked.expectRefused({ as: 'ci', target, body: body ?? '' }, { kind: 'PermissionDenied', says })
    // Also a namespace without a policy of its own.
    const inner = `/v1/namespace/${namespace}$inner/${action}`
    await attacked.expectRefused(
      { as: 'ci', target: inner, body: body ?? '' },
      { kind: 'PermissionDenied', says },
    )
  }
})

it('allows dropping and creating an empty namespace', async () => {
  await attacked.expectForwarded({
    as: 'ci',
    target: '/v1/namespace/required/drop',
    body: '{"behavior":"Restrict"}',
  })
  await attacked.expectForwarded({
    as: 'ci',
    target: '/v1/namespace/required$new/create',
    body: '{"mode":"Create"}',
  })
})
