import { expect, it } from 'vitest'
import { slowDecide } from './slow-oracle.ts'
import { ask, caller, setOf, type WrittenPolicy, type WrittenRule } from './written-policy.ts'

/*
 * The rules of a namespace that names many are found by whom they name, and are not packed as others are: neither they
 * nor what is packed behind them may be decided otherwise.
 */

function rule(id: string, effect: 'allow' | 'deny', ...users: readonly string[]): WrittenRule {
  return { id, effect, subjects: { users }, operations: ['read'] }
}

const many = Array.from({ length: 60 }, (_, index) =>
  rule(
    `many-${index}`,
    index % 3 === 0 ? 'deny' : 'allow',
    `user-${index}`,
    `user-${index + 7}`,
    `user-${index}`,
  ),
)

const policies: readonly WrittenPolicy[] = [
  { name: 'root', namespace: [], rules: [rule('top', 'allow', 'user-1')] },
  { name: 'many', namespace: ['many'], rules: many.slice(0, 40) },
  { name: 'more', namespace: ['many'], rules: many.slice(40) },
  { name: 'beneath', namespace: ['many', 'beneath'], rules: [rule('low', 'allow', 'user-2', 'user-3')] },
  {
    name: 'beside',
    namespace: ['beside'],
    rules: [rule('next', 'deny', 'user-1'), rule('last', 'allow', 'user-9')],
  },
]

it('decides by many subjects of a namespace, and by those of the namespaces around it', () => {
  const set = setOf(policies)
  const namespaces = [[], ['many'], ['many', 'beneath'], ['beside']]
  for (let index = 0; index < 70; index++) {
    for (const namespace of namespaces) {
      const question = ask(caller(`user-${index}`), 'DescribeTable', 'table', [...namespace, 'orders'])
      const { allowed, rule } = set.decide(question)
      const expected = slowDecide(policies, question)
      expect([allowed, rule && `${rule.policy}/${rule.rule}`]).toEqual([expected.allowed, expected.rule])
    }
  }
})
