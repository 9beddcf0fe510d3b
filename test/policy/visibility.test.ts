import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Question } from '../../src/policy/question.ts'
import { policies as anyPolicies, question as anyQuestion } from './generated-policies.ts'
import { slowDecide } from './slow-oracle.ts'
import { writtenConditions } from './written-conditions.ts'
import { caller, ask, setOf, type WrittenPolicy } from './written-policy.ts'

/** Of the permissions that are generated, some become those that decide what is seen. */
const seeing: Readonly<Record<string, string>> = {
  DropTable: 'DescribeTable',
  ListTables: 'DescribeNamespace',
  QueryTable: 'DescribeTable',
}
const policies = anyPolicies.map((written) =>
  written.map((policy) => ({
    ...policy,
    rules: policy.rules.map((rule) => ({
      ...rule,
      operations: [...new Set(rule.operations.map((name) => seeing[name] ?? name))],
    })),
  })),
)
const questions = fc.array(
  anyQuestion.filter(({ kind }) => kind === 'namespace' || kind === 'table'),
  { minLength: 10, maxLength: 10 },
)

it('shows what the caller may describe, and the way to it, as asking for each thing beneath does', () => {
  let shown = 0
  let onTheWay = 0
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { principal, id, request } = question
        const kind = question.kind === 'namespace' ? 'namespace' : 'table'
        const shows = set.viewOf({ principal, request })(kind, id)
        const describes = mayDescribe(policies, question, kind, id)
        const expected = describes || (kind === 'namespace' && slowShowsBeneath(policies, question))
        // A condition on the id counts for the caller, for it is asked about what may be there.
        if (kind === 'namespace' && asksForObject(policies) && shows && !expected) continue
        expect(shows, JSON.stringify({ principal: principal.name, kind, id })).toBe(expected)
        if (shows) shown += 1
        if (shows && !describes) onTheWay += 1
      }
    }),
    { numRuns: 200 },
  )
  expect(shown).toBeGreaterThan(50)
  expect(onTheWay).toBeGreaterThan(5)
})

function mayDescribe(
  policies: readonly WrittenPolicy[],
  { principal, request }: Question,
  kind: 'namespace' | 'table',
  id: readonly string[],
): boolean {
  const permission = kind === 'namespace' ? 'DescribeNamespace' : 'DescribeTable'
  const operation = { branch: kind === 'table' ? 'main' : '' }
  return slowDecide(policies, ask(principal, permission, kind, id, { request, operation })).allowed
}

/** Asks for every namespace beneath that a policy speaks of and one that none does, and for every kind of table. */
function slowShowsBeneath(policies: readonly WrittenPolicy[], question: Question): boolean {
  const { id } = question
  const patterns = policies.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const names = [...patterns.map((pattern) => pattern.replaceAll('*', 'z')), 'fresh']
  const spoken = policies
    .map(({ namespace }) => namespace)
    .filter((path) => id.every((part, index) => path[index] === part))
    .flatMap((path) => path.slice(id.length).map((_, index) => path.slice(0, id.length + index + 1)))
  return [id, ...spoken].some(
    (path) =>
      (path !== id && mayDescribe(policies, question, 'namespace', path)) ||
      mayDescribe(policies, question, 'namespace', [...path, 'fresh']) ||
      mayDescribe(policies, question, 'table', [...path, 'fresh', 'fresh']) ||
      names.some((name) => mayDescribe(policies, question, 'table', [...path, name])),
  )
}

function asksForObject(policies: readonly WrittenPolicy[]): boolean {
  return policies.some(({ rules }) =>
    rules.some(({ when }) => when !== undefined && writtenConditions.get(when)?.asks === 'object'),
  )
}

const ann = caller('ann')
const { request } = ask(ann, 'DescribeTable', 'table', ['t'])

it.each<[what: string, tables: readonly string[], denied: readonly string[], shown: boolean]>([
  ['the same pattern is denied', ['a*'], ['a*'], false],
  ['a wider pattern is denied', ['a*b', 'abc'], ['a*'], false],
  ['two patterns are denied that together hold all of it', ['a*', 'b'], ['b', 'a*'], false],
  ['a narrower pattern is denied', ['a*'], ['ab*'], true],
  ['many narrower patterns are denied', ['a*'], ['a', 'ab*', 'ac*', '*a'], true],
])('a namespace of tables that may be described is shown, unless %s', (_what, tables, denied, shown) => {
  const subjects = { users: ['ann'] }
  const set = setOf([
    {
      name: 'p',
      namespace: ['x', 'y'],
      rules: [
        { id: 'some', effect: 'allow', subjects, operations: ['DescribeTable'], tables },
        { id: 'none', effect: 'deny', subjects, operations: ['DescribeTable'], tables: denied },
      ],
    },
  ])
  for (const id of [['x'], ['x', 'y']]) {
    expect(set.viewOf({ principal: ann, request })('namespace', id)).toBe(shown)
  }
  expect(set.viewOf({ principal: caller('bob'), request })('namespace', ['x'])).toBe(false)
  expect(set.viewOf({ principal: ann, request })('namespace', ['x', 'y', 'z'])).toBe(false)
})
