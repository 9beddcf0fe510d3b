import { describe, expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import type { WrittenPolicy } from '../../policy/policy-builder.ts'
import { expectError } from '../support/expect-error.ts'
import { withExtraOperations } from '../support/extra-operations.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

function allow(user: string, ...operations: readonly string[]): WrittenPolicy {
  return {
    name: user,
    namespace: [],
    rules: [{ id: 'allow', effect: 'allow', subjects: { users: [user] }, operations }],
  }
}

const setup = {
  ...withExtraOperations,
  users: ['named', 'grouped', 'reader', 'nothing'],
  policies: [
    allowEverything,
    allow('named', 'CompactTable', 'MirrorTable', 'PrewarmTable'),
    allow('grouped', 'admin'),
    allow('reader', 'read'),
    {
      name: 'restricted',
      namespace: ['restricted'],
      rules: [
        {
          id: 'branches',
          effect: 'deny',
          subjects: { everyone: true },
          operations: ['change'],
          when: 'operation != "CompactTable" && branch != "" && !branch.like("ci/*")',
        },
      ],
    },
    {
      name: 'frozen',
      namespace: ['frozen'],
      rules: [{ id: 'f', effect: 'deny', subjects: { everyone: true }, operations: ['change'] }],
    },
    {
      name: 'closed',
      namespace: ['closed'],
      rules: [{ id: 'closed', effect: 'deny', subjects: { any: true }, operations: ['all'] }],
    },
    {
      name: 'main',
      namespace: ['main'],
      rules: [
        {
          id: 'closed',
          effect: 'deny',
          subjects: { any: true },
          operations: ['MirrorTable'],
          when: 'branch == "main"',
        },
      ],
    },
  ],
} as const
const shared = useSharedGateway(setup)

const [mirror, compact, prewarm] = ['mirror', 'compact', 'file_cache/prewarm']

describe('an extra operation', () => {
  it.each([
    ['nobody by default', 'nothing', compact, 403],
    ['callers of a rule that names it', 'named', compact, 200],
    ['no caller of a group that the settings do not name', 'grouped', compact, 403],
    ['no caller of all, without a group', 'dev', compact, 403],
    ['callers of its group', 'grouped', mirror, 200],
    ['callers of all, with a group', 'dev', mirror, 200],
    ['callers of read, if it is a read of the group query', 'reader', prewarm, 200],
    ['no caller of another group', 'reader', mirror, 403],
  ])('is allowed to %s', async (_whom, as, action, status) => {
    const { gateway } = shared
    expect((await gateway.post(`/v1/table/sales$orders/${action}`, { as })).status).toBe(status)
  })

  it.each([
    ['a rule on branches', 'restricted', mirror, 403],
    ['a rule on branches that allows it by name', 'restricted', compact, 200],
    ['a rule on branches, if it is a read', 'restricted', prewarm, 200],
    ['a freeze', 'frozen', compact, 403],
    ['a freeze, if it is a read', 'frozen', prewarm, 200],
    ['a deny of all, even without a group', 'closed', compact, 403],
    ['a deny on main, because its branch is unknown', 'main', mirror, 403],
  ])('is decided by %s', async (_rule, namespace, action, status) => {
    const { gateway } = shared
    const response = await gateway.post(`/v1/table/${namespace}$orders/${action}`, { as: 'named' })
    expect(response.status).toBe(status)
  })

  it('does not reveal a table to callers that may not list it', async () => {
    const policies = [allow('named', 'PrewarmTable')]
    const { gateway } = await startGatewayAndUpstream({ ...setup, policies })
    const response = await gateway.post('/v1/table/sales$orders/compact', { as: 'named' })
    expectError(response, { kind: 'NamespaceNotFound', says: 'sales' })
  })

  it('is refused with its name', async () => {
    const { gateway } = await startGatewayAndUpstream(setup)
    const says = 'you are not allowed CompactTable on ["sales","orders"]'
    expectError(await gateway.post('/v1/table/sales$orders/compact'), { kind: 'PermissionDenied', says })
    await gateway.stop()
    expect(ofKind(await recordsOf(gateway.auditFolder), 'refusal')).toMatchObject([
      { operation: 'CompactTable', id: ['sales', 'orders'], principal: { name: 'dev' }, reason: 'no_rule' },
    ])
  })
})
