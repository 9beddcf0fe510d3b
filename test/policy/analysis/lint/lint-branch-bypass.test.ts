import { expect, it } from 'vitest'
import { createBypassCheck } from '../../../../src/policy/analysis/lint/lint-bypass.ts'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { createRuleIndex } from '../../../../src/policy/analysis/lint/rule-index.ts'
import { compilePolicies, type PolicySet } from '../../../../src/policy/policy-set.ts'
import { parseDocuments } from '../../parse-documents.ts'
import type { WrittenPolicy, WrittenRule } from '../../policy-builder.ts'

function found(policies: readonly WrittenPolicy[]): readonly string[] {
  const documents = parseDocuments(policies)
  const set = compilePolicies(documents)
  return lintPolicies(set)
    .filter(({ message }) => message.includes('depends on the branch'))
    .map(
      ({ level, check, message }) =>
        `${level} ${check} ${message.replaceAll(/ \(policies\.yaml:\d+\)/g, '')}`,
    )
}

const policy = (
  name: string,
  namespace: readonly string[],
  rules: readonly WrittenRule[],
  rest: Partial<WrittenPolicy> = {},
): WrittenPolicy => ({ name, namespace, rules, ...rest })

const ci = { groups: ['ci'] }
const restricted: WrittenRule = {
  id: 'ci',
  effect: 'allow',
  subjects: ci,
  operations: ['write'],
  when: 'branch.like("ci/*")',
}
const allow = (id: string, operations: readonly string[], rest: Partial<WrittenRule> = {}): WrittenRule => ({
  id,
  effect: 'allow',
  subjects: ci,
  operations,
  ...rest,
})

const changesDenied = (when: string): WrittenRule => ({
  id: 'changes',
  effect: 'deny',
  subjects: { everyone: true },
  operations: ['change'],
  when,
})

const bypassMessage = (rules: string, names: string): string =>
  `depends on the branch, but the same callers can replace a table with every branch: ${names}, by ${rules}; ` +
  'deny these too, under the same condition'

it.each<[string, readonly WrittenPolicy[], string]>([
  [
    'another rule of the namespace',
    [policy('p', ['a'], [restricted, allow('move', ['DeregisterTable', 'RegisterTable'])])],
    bypassMessage('p/move', 'DeregisterTable with RegisterTable'),
  ],
  [
    'two rules together, one of them above',
    [
      policy('top', [], [allow('drop', ['drop'])]),
      policy('p', ['a'], [restricted, allow('new', ['create'])]),
    ],
    bypassMessage('top/drop and p/new', 'DropTable with CreateTable'),
  ],
  [
    'a rule beneath',
    [policy('p', ['a'], [restricted]), policy('sub', ['a', 'b'], [allow('all', ['create', 'drop'])])],
    bypassMessage('sub/all', 'DropTable with CreateTable'),
  ],
  [
    'a rule for every caller',
    [
      policy(
        'p',
        ['a'],
        [restricted, allow('any', ['OverwriteTable', 'CreateTable'], { subjects: { any: true } })],
      ),
    ],
    bypassMessage('p/any', 'OverwriteTable with CreateTable'),
  ],
  [
    'a condition on something else',
    [policy('p', ['a'], [restricted, allow('on', ['create', 'drop'], { when: '"why" in context' })])],
    bypassMessage('p/on', 'DropTable with CreateTable'),
  ],
  [
    'what the rule itself allows by name',
    [
      policy(
        'p',
        ['a'],
        [
          allow('ci', ['write', 'DropTable', 'CreateTable'], {
            when: 'branch.like("ci/*") || operation in ["DropTable", "CreateTable"]',
          }),
        ],
      ),
    ],
    bypassMessage('p/ci', 'DropTable with CreateTable'),
  ],
])('reports callers restricted to branches that may replace a table by %s', (_what, policies, message) => {
  const [finding, ...more] = found(policies)
  expect(finding).toMatch(/^warning way-around p\/ci /)
  expect(finding).toContain(message)
  expect(more).toEqual([])
})

it('reports a deny on a branch that callers can bypass by replacing the table', () => {
  const deny: WrittenRule = {
    id: 'main',
    effect: 'deny',
    subjects: { any: true },
    operations: ['write', 'commit'],
    when: 'branch == "main"',
  }
  expect(found([policy('p', ['a'], [deny]), policy('top', [], [allow('all', ['all'])])])).toEqual([
    `warning way-around p/main ${bypassMessage('top/all', 'DropTable with RegisterTable')}`,
  ])
  const closed = { ...deny, operations: ['write', 'commit', 'drop', 'RenameTable'] }
  expect(found([policy('p', ['a'], [closed]), policy('top', [], [allow('all', ['all'])])])).toEqual([])
})

const drops = allow('all', ['create', 'drop'])
it.each<[string, readonly WrittenPolicy[]]>([
  ['for other callers', [policy('p', ['a'], [restricted, { ...drops, subjects: { groups: ['ops'] } }])]],
  ['elsewhere', [policy('p', ['a'], [restricted]), policy('q', ['b'], [drops])]],
  [
    'of tables alone, above',
    [policy('p', ['a'], [restricted]), policy('q', [], [{ ...drops, tables: ['t'] }])],
  ],
  ['that is not inherited', [policy('p', ['a'], [restricted], { inherit: false }), policy('q', [], [drops])]],
  ['of half a way', [policy('p', ['a'], [restricted, allow('drop', ['drop'])])]],
  [
    'under a condition on the branch',
    [policy('p', ['a'], [restricted, { ...drops, when: 'branch == "x"' }])],
  ],
  ['of all that the restricted rule allows', [policy('p', ['a'], [restricted, allow('all', ['all'])])]],
  [
    'that a namespace above reserves',
    [policy('q', [], [], { final: ['drop', 'admin'] }), policy('p', ['a'], [restricted, drops])],
  ],
  [
    'that a deny on branches covers',
    [policy('p', ['a'], [restricted, drops, changesDenied('branch != "" && !branch.like("ci/*")')])],
  ],
  ['on branches that are read', [policy('p', ['a'], [{ ...restricted, operations: ['read'] }, drops])]],
])('accepts a grant %s', (_what, policies) => {
  expect(found(policies)).toEqual([])
})

it.each<[readonly string[], string | undefined]>([
  [[], undefined],
  [['DeregisterTable', 'RegisterTable'], 'DeregisterTable with RegisterTable'],
  [['OverwriteTable', 'RegisterTable'], 'OverwriteTable with RegisterTable'],
  [['RegisterTable', 'RenameTable'], 'RenameTable with RegisterTable'],
  [['DeregisterTable', 'DropTable'], undefined],
])('a deny on a branch that leaves %j of whole tables may be bypassed', (left, names) => {
  for (const tables of [undefined, ['t']]) {
    const deny = {
      ...changesDenied(`!(operation in ${JSON.stringify(left)}) && branch == "main"`),
      ...(tables && { tables }),
    }
    const policies = [policy('p', ['a'], [deny]), policy('top', [], [allow('all', ['all'])])]
    const message = `warning way-around p/changes ${bypassMessage('top/all', names ?? '')}`
    expect(found(policies)).toEqual(names === undefined ? [] : [message])
  }
})

it('limits the callers tried per rule, however many rules are above', () => {
  const count = 300
  const above = Array.from({ length: count }, (_, at) =>
    allow(`r${at}`, ['drop'], { subjects: { groups: [`g${at}`] } }),
  )
  const everybody = { ...restricted, subjects: { any: true as const } }
  const documents = parseDocuments([policy('top', [], above), policy('p', ['a'], [everybody])])
  const set = compilePolicies(documents)
  const tried = new Set<string>()
  const counting: PolicySet = {
    ...set,
    evaluate(question, visit) {
      tried.add(JSON.stringify([...question.caller.groups]))
      return set.evaluate(question, visit)
    },
  }
  const index = createRuleIndex(counting)
  expect(index.rules.flatMap(createBypassCheck(index))).toEqual([])
  expect(tried.size).toBeLessThan(30)
})
