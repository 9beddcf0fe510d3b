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
): WrittenPolicy => ({ name, namespace, rules })

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
