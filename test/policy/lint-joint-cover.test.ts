import fc from 'fast-check'
import { expect, it } from 'vitest'
import { lintRules } from '../../src/policy/lint-rules.ts'
import { isThorough } from '../thorough.ts'
import { documentsOf } from './documents-of.ts'
import { policies, question } from './generated-policies.ts'
import { slowDecide } from './slow-oracle.ts'
import { writtenConditions } from './written-conditions.ts'
import { ask, caller, textOf, type WrittenPolicy, type WrittenRule } from './written-policy.ts'

const numRuns = isThorough ? 3000 : 120

/** What lint says of rules that others make needless, by the names of the rules. */
function shadowed(policies: readonly WrittenPolicy[]): ReadonlyMap<string, string> {
  const found = lintRules(documentsOf(policies)).filter(({ check }) => check === 'shadowed')
  return new Map(found.map(({ message }) => [message.split(' ')[0] ?? '', message]))
}

function without(
  policies: readonly WrittenPolicy[],
  gone: { has: (name: string) => boolean },
): readonly WrittenPolicy[] {
  return policies.map((policy) => ({
    ...policy,
    rules: policy.rules.filter(({ id }) => !gone.has(`${policy.name}/${id}`)),
  }))
}

const namespace = fc.constantFrom<readonly string[]>([], ['a'], ['a'], ['a', 'b'])
const operations = fc.uniqueArray(fc.constantFrom('QueryTable', 'ListTables', 'DropTable', 'read'), {
  minLength: 1,
  maxLength: 3,
})
const groups = fc.uniqueArray(fc.constantFrom('sales', 'ops'), { minLength: 1 })
const plainRule = fc.record({
  subjects: fc.record({ groups }),
  operations,
  effect: fc.constant('allow' as const),
})

/** Rules that have much in common, so that they cover each other all the time. */
const alike: fc.Arbitrary<Omit<WrittenRule, 'id'>> = fc
  .record(
    {
      effect: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'deny'),
      subjects: fc.oneof(
        { weight: 6, arbitrary: fc.record({ groups }) },
        fc.constantFrom(
          { any: true as const },
          { groups: ['sales'], except: { users: ['bob'] } },
          { anonymous: true as const },
        ),
      ),
      operations: operations.map((some) => [...some, 'DropTable']),
      tables: fc.constantFrom(['a'], ['b*'], ['a', 'b*']),
      when: fc.constantFrom(...[...writtenConditions.keys()].slice(0, 2)),
    },
    { requiredKeys: ['effect', 'subjects', 'operations'] },
  )
  .map(({ tables, when, ...rule }) => ({ ...rule, ...(tables && { tables }), ...(when && { when }) }))

function policiesOf(
  rule: fc.Arbitrary<Omit<WrittenRule, 'id'>>,
  limits: boolean,
): fc.Arbitrary<readonly WrittenPolicy[]> {
  const some = fc.record({
    namespace,
    inherit: limits ? fc.constantFrom(true, true, true, false) : fc.constant(true),
    final: limits ? fc.constantFrom([], [], [], ['DropTable']) : fc.constant<readonly string[]>([]),
    rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
  })
  return fc.array(some, { minLength: 1, maxLength: 3 }).map((all) =>
    all.map(({ final, rules, ...policy }, index) => ({
      ...policy,
      name: `p${index}`,
      ...(final.length > 0 && { final }),
      rules: rules.map((rule, index) => ({ ...rule, id: `r${index}` })),
    })),
  )
}

it.each([
  ['that have much in common', policiesOf(fc.oneof(plainRule, alike), true)],
  ['of any kind', policies],
])('no decision changes when all goes that is said to be needless: policies %s', (what, written) => {
  let together = 0
  fc.assert(
    fc.property(written, fc.array(question, { minLength: 20, maxLength: 20 }), (policies, questions) => {
      const gone = shadowed(policies)
      if (gone.size === 0) return
      if ([...gone.values()].some((message) => message.endsWith('together'))) together++
      const left = without(policies, gone)
      for (const question of questions) {
        const before = slowDecide(policies, question).allowed
        expect(slowDecide(left, question).allowed, textOf(policies)).toBe(before)
      }
    }),
    { numRuns },
  )
  if (what !== 'of any kind') expect(together).toBeGreaterThan(numRuns / 50)
})

it('finds every rule that plain rules make needless, one after the other, and no other', () => {
  fc.assert(
    fc.property(policiesOf(plainRule, false), (policies) => {
      const gone = shadowed(policies)
      const left = without(policies, gone)
      const names = left.flatMap(({ name, rules }) => rules.map(({ id }) => `${name}/${id}`))
      const questions = ['sales', 'ops'].flatMap((group) =>
        (['QueryTable', 'ListTables', 'DropTable', 'CountTableRows'] as const).flatMap((permission) =>
          [[], ['a'], ['a', 'b']].map((id) => ask(caller('eve', group), permission, 'namespace', id)),
        ),
      )
      const answers = (policies: readonly WrittenPolicy[]): readonly boolean[] =>
        questions.map((question) => slowDecide(policies, question).allowed)
      expect(answers(left)).toEqual(answers(policies))
      for (const name of names) {
        expect(answers(without(left, new Set([name]))), `${name} of ${textOf(left)}`).not.toEqual(
          answers(left),
        )
      }
    }),
    { numRuns },
  )
})

const allow = (id: string, operations: readonly string[], more: Partial<WrittenRule> = {}): WrittenRule => ({
  id,
  effect: 'allow',
  subjects: { groups: ['g'] },
  operations,
  ...more,
})
const both = allow('both', ['QueryTable', 'DropTable'])
const halves = [allow('query', ['QueryTable', 'ListTables']), allow('drop', ['DropTable', 'DropNamespace'])]
const top = (rules: readonly WrittenRule[], more: Partial<WrittenPolicy> = {}): WrittenPolicy => ({
  name: 'top',
  namespace: [],
  rules,
  ...more,
})
const beneath = (rules: readonly WrittenRule[], more: Partial<WrittenPolicy> = {}): WrittenPolicy => ({
  name: 'beneath',
  namespace: ['a'],
  rules,
  ...more,
})

it.each<[string, readonly WrittenPolicy[]]>([
  ['by their operations', [top([...halves, both])]],
  ['from above', [top(halves), beneath([both])]],
  [
    'by their groups',
    [
      top([
        allow('one', ['read'], { subjects: { groups: ['g', 'x'] } }),
        allow('two', ['read'], { subjects: { groups: ['h', 'y'] } }),
        allow('both', ['read'], { subjects: { groups: ['g', 'h'] } }),
      ]),
    ],
  ],
  [
    'by their tables',
    [
      top([
        allow('one', ['read'], { tables: ['a', 'x'] }),
        allow('two', ['read'], { tables: ['b*', 'y'] }),
        allow('both', ['read'], { tables: ['a', 'b*'] }),
      ]),
    ],
  ],
  ['under the same condition', [top([...halves, both].map((rule) => ({ ...rule, when: 'branch == "x"' })))]],
  [
    'where a deny holds for all of them',
    [top([...halves, both, { ...both, id: 'no', effect: 'deny', when: 'branch == "x"' }])],
  ],
])('tells of an allow that others cover together: %s', (_, policies) => {
  const [[name, message] = ['', '']] = shadowed(policies)
  expect(name).toMatch(/\/both$/)
  expect(message).toMatch(
    /^\w+\/both is redundant: covered by top\/\w+ \(policies\.yaml:\d+\) and top\/\w+ \(policies\.yaml:\d+\) together$/,
  )
})

it.each<[string, readonly WrittenPolicy[]]>([
  [
    'one has a condition',
    [top([{ ...(halves[0] ?? both), when: 'branch == "x"' }, ...halves.slice(1), both])],
  ],
  [
    'one leaves somebody out',
    [
      top([
        ...halves.slice(1),
        { ...(halves[0] ?? both), subjects: { groups: ['g'], except: { users: ['u'] } } },
        both,
      ]),
    ],
  ],
  ['one does not reach so far down', [top(halves), beneath([both], { inherit: false })]],
  ['what one allows is reserved above', [top([], { final: ['DropTable'] }), beneath([...halves, both])]],
  ['one is beneath', [top([both]), beneath(halves)]],
  ['one is about tables alone', [top([{ ...(halves[0] ?? both), tables: ['a'] }, ...halves.slice(1), both])]],
  ['one denies', [top([{ ...(halves[0] ?? both), effect: 'deny' }, ...halves.slice(1), both])]],
])('is silent where %s', (_, policies) => {
  expect([...shadowed(policies).keys()]).toEqual([])
})
