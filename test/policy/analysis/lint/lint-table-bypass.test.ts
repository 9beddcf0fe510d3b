import { expect, it } from 'vitest'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet, type WrittenPolicy, type WrittenRule } from '../../policy-builder.ts'

function found(policies: readonly WrittenPolicy[]): readonly string[] {
  return lintPolicies(compilePolicySet(policies))
    .filter(({ check, message }) => check === 'way-around' && message.includes('denies tables'))
    .map(({ level, message }) => `${level} ${message}`)
}

const al = { users: ['al'] }
const deny = (rest: Partial<WrittenRule> = {}): WrittenRule => ({
  id: 'no',
  effect: 'deny',
  subjects: al,
  operations: ['query'],
  tables: ['salaries'],
  ...rest,
})
const policy = (
  name: string,
  namespace: readonly string[],
  operations: readonly string[],
  rest: Partial<WrittenPolicy> = {},
): WrittenPolicy => ({
  name,
  namespace,
  ...rest,
  rules: [{ id: 'yes', effect: 'allow', subjects: al, operations }, ...(rest.rules ?? [])],
})
const denying = (operations: readonly string[], rest: Partial<WrittenRule> = {}): WrittenPolicy =>
  policy('p', ['a'], operations, { rules: [deny(rest)] })
const folders = { commits: { folders: ['s3://b'] } }

it.each<[string, readonly WrittenPolicy[], string]>([
  [
    'its location is registered in the namespace',
    [denying(['RegisterTable', 'ChooseLocation'])],
    'RegisterTable with ChooseLocation gives its location another name, by p/yes (policies.yaml:1)',
  ],
  [
    'its location is declared elsewhere',
    [denying(['read']), policy('q', ['b'], ['create', 'ChooseLocation'])],
    'DeclareTable with ChooseLocation gives its location another name, by q/yes (policies.yaml:3)',
  ],
  [
    'both are granted apart, above',
    [denying(['read', 'RegisterTable']), policy('q', [], ['ChooseLocation'])],
    'RegisterTable with ChooseLocation gives its location another name, by p/yes (policies.yaml:1) and q/yes (policies.yaml:3)',
  ],
  ['its files are committed', [denying(['commit'])], 'CreateTableVersion commits its files to another table'],
  ['SQL reads any table', [denying(['read']), policy('q', [], ['ReadAnyTable'])], 'ReadAnyTable copies it'],
  ['credentials are handed out', [denying(['credentials'])], 'VendCredentials gives access to its files'],
  [
    'folders of the namespace contain it',
    [{ ...denying(['RegisterTable', 'ChooseLocation']), ...folders }],
    'gives its location another name',
  ],
  [
    'a deny for all covers the caller',
    [denying(['RegisterTable', 'ChooseLocation'], { subjects: { any: true } })],
    'gives its location another name',
  ],
  [
    'a deny for all but others covers the caller',
    [denying(['RegisterTable', 'ChooseLocation'], { subjects: { any: true, except: { groups: ['g'] } } })],
    'gives its location another name',
  ],
])('reports that %s', (_what, policies, message) => {
  const [finding, ...more] = found(policies)
  expect(finding).toContain(
    `warning p/no denies tables, but the same callers can use their content otherwise: `,
  )
  expect(finding).toContain(message)
  expect(more).toEqual([])
})

/** Allows `al` these operations in a namespace, and denies others in all of it. */
const denyingAll = (allowed: readonly string[], denied = ['query']): WrittenPolicy =>
  policy('p', ['a'], allowed, { rules: [{ id: 'no', effect: 'deny', subjects: al, operations: denied }] })

it.each<[string, readonly WrittenPolicy[], string[]]>([
  [
    'it may create tables elsewhere',
    [denyingAll(['RenameTable']), policy('q', ['b'], ['create'])],
    [
      'warning p/no denies tables of its namespace, but the same callers can move them out of it: ' +
        'RenameTable with CreateTable elsewhere, by p/yes (policies.yaml:1) and q/yes (policies.yaml:3)',
    ],
  ],
  ['it may create tables beneath', [denyingAll(['RenameTable']), policy('q', ['a', 'b'], ['create'])], []],
  ['it may not move', [denyingAll(['read']), policy('q', ['b'], ['create'])], []],
  [
    'the rule denies moves, too',
    [denyingAll(['RenameTable'], ['query', 'drop']), policy('q', ['b'], ['create'])],
    [],
  ],
  [
    'the rule denies moves under the same condition',
    [
      policy('p', ['a'], ['RenameTable'], {
        rules: [
          {
            id: 'no',
            effect: 'deny',
            subjects: al,
            operations: ['change'],
            when: 'now < timestamp("2999-01-01T00:00:00Z")',
          },
        ],
      }),
      policy('q', ['b'], ['create']),
    ],
    [],
  ],
])('finds a deny of a namespace whose caller can move tables out of it: %s', (_what, policies, findings) => {
  expect(found(policies)).toEqual(findings)
})

it.each<[string, readonly WrittenPolicy[]]>([
  ['the deny covers it', [denying(['all'], { operations: ['all'], tables: ['salaries'] })].map(withoutWays)],
  [
    'another deny covers it',
    [
      policy('p', ['a'], ['credentials'], {
        rules: [deny(), deny({ id: 'c', operations: ['credentials'] })],
      }),
    ],
  ],
  [
    'a deny for all but others covers it',
    [
      policy('p', ['a'], ['credentials'], {
        rules: [
          deny(),
          deny({ id: 'c', operations: ['credentials'], subjects: { any: true, except: { groups: ['g'] } } }),
        ],
      }),
    ],
  ],
  [
    'it is excepted',
    [
      policy('p', ['a'], ['RegisterTable', 'ChooseLocation'], {
        rules: [deny({ subjects: { any: true, except: { users: ['al'] } } })],
      }),
    ],
  ],
  [
    'other callers may',
    [
      denying(['read']),
      {
        ...policy('q', [], []),
        rules: [{ id: 'o', effect: 'allow', subjects: { users: ['bo'] }, operations: ['all'] }],
      },
    ],
  ],
  [
    'folders keep it out',
    [denying(['read']), policy('q', ['b'], ['RegisterTable', 'ChooseLocation', 'commit'], folders)],
  ],
  ['half of it is allowed', [denying(['RegisterTable', 'read'])]],
  ['only new tables are denied', [denying(['all'], { operations: ['create'] })]],
])('accepts that %s', (_what, policies) => {
  expect(found(policies)).toEqual([])
})

/** Allows what the rule can deny by the name of the table alone. */
function withoutWays(written: WrittenPolicy): WrittenPolicy {
  const rules = written.rules.map((rule) =>
    rule.effect === 'allow'
      ? { ...rule, operations: ['read', 'write', 'drop', 'RenameTable', 'credentials'] }
      : rule,
  )
  return { ...written, rules }
}
