import { it } from 'vitest'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// Rules name tables. A caller that may rename a table could use it under the other name.
const denying = (name: string, more: Partial<WrittenRule>) =>
  policyOf(
    [name],
    [ruleFor(['al']), ruleFor(['al'], ['query'], { effect: 'deny', tables: ['salaries'], ...more })],
  )
const exceptPayroll = { everyone: true, except: { users: ['payroll'] } } as const
const policies = [
  denying('read', {}),
  denying('written', { operations: ['InsertIntoTable'] }),
  denying('main', { when: 'branch == "main"' }),
  denying('until', { when: 'now < timestamp("2999-01-01T00:00:00Z")' }),
  denying('past', { when: 'now < timestamp("2001-01-01T00:00:00Z")' }),
  policyOf(
    ['protected'],
    [
      ruleFor(['al', 'payroll']),
      ruleFor([], ['all'], { effect: 'deny', subjects: exceptPayroll, tables: ['sal*'] }),
    ],
  ),
]
const users = ['al', 'payroll']

const moves: readonly (readonly [target: string, body: object])[] = [
  ['/v1/table/N$salaries/rename', { new_table_name: 'y' }],
  ['/v1/table/N$salaries/deregister', {}],
  ['/v1/table/batch-commit', { operations: [{ deregister_table: { id: ['N', 'salaries'] } }] }],
  ['/v1/table/N$salaries/restore', { version: 1 }],
  ['/v1/table/N$salaries/branches/create', { name: 'y' }],
]
const inNamespace = (namespace: string): readonly (readonly [string, object])[] =>
  moves.map(([target, body]) => [
    target.replace('N', namespace),
    JSON.parse(JSON.stringify(body).replace('"N"', JSON.stringify(namespace))) as object,
  ])
const refused = { kind: 'PermissionDenied', says: /not allowed \w+/ } as const

const attacked = attackedGateway({ users, policies })

it.each(['read', 'written', 'until', 'protected'])('the table cannot be moved: %s', async (namespace) => {
  for (const [target, body] of inNamespace(namespace))
    await attacked.expectRefused({ as: 'al', target, body }, refused)
})

it('a deny for one branch denies what concerns every branch, and that branch', async () => {
  for (const [target, body] of inNamespace('main'))
    await attacked.expectRefused({ as: 'al', target, body }, refused)
  const target = '/v1/table/main$salaries/restore'
  await attacked.expectForwarded({ as: 'al', target, body: { version: 1, branch: 'dev' } })
})

it('moves are allowed if the deny does not apply', async () => {
  const [rename] = inNamespace('past')
  await attacked.expectForwarded({ as: 'al', target: rename?.[0] ?? '', body: rename?.[1] ?? {} })
})

it('other tables and other callers may move', async () => {
  const body = { new_table_name: 'y' }
  await attacked.expectForwarded({ as: 'al', target: '/v1/table/read$orders/rename', body })
  await attacked.expectForwarded({ as: 'payroll', target: '/v1/table/protected$salaries/rename', body })
})
