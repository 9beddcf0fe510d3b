import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anonymousPrincipal, type Principal } from '../../src/identity/principal.ts'
import type { ObjectKind } from '../../src/interface/operations.ts'
import { diffPolicies, type DecisionChange } from '../../src/policy/diff.ts'
import { nameClasses } from '../../src/policy/name-classes.ts'
import { matcherOf } from '../../src/policy/name-pattern.ts'
import { kindOf } from '../../src/policy/object-kind.ts'
import type { PolicyDocument } from '../../src/policy/policy-document.ts'
import { keyOf, positionOf, referenceTo } from '../../src/policy/rule-reach.ts'
import { documentsOf } from './documents-of.ts'
import { policies, question } from './generated-policies.ts'
import { ask, setOf, textOf, type WrittenPolicy, type WrittenRule } from './written-policy.ts'

/** No table is asked for what is done to namespaces. */
const sensible = question.filter(
  ({ kind, id, permission }) =>
    positionOf(kind, id).table === undefined || kindOf(permission) !== 'namespace',
)
const questions = fc.array(sensible, { minLength: 20, maxLength: 20 })

/** Policies, and the same with one of them left out and another one instead. */
const edited = fc
  .tuple(policies, policies, fc.nat(5))
  .map(([before, others, place]) => [before, [...before.toSpliced(place, 1), ...others.slice(0, 1)]] as const)

it('holds every decision that changes', () => {
  let changed = 0
  fc.assert(
    fc.property(edited, questions, ([before, after], questions) => {
      const [one, other] = [setOf(before), setOf(after)]
      const documents = [...documentsOf(before), ...documentsOf(after)]
      const { changes } = diffPolicies(documentsOf(before), documentsOf(after))
      const named = new Set(changes.map((change) => caseOf(documents, change.position, change.permission)))
      for (const question of questions) {
        if (one.decide(question).allowed === other.decide(question).allowed) continue
        changed++
        const position = positionOf(question.kind, question.id)
        expect(named, textOf(after)).toContain(caseOf(documents, position, question.permission))
      }
    }),
    { numRuns: 60 },
  )
  expect(changed).toBeGreaterThan(3)
})

it('holds no decision that does not change, where nothing is conditional', () => {
  let changed = 0
  fc.assert(
    fc.property(edited, (pair) => {
      const [before, after] = pair.map((policies) => policies.map(unconditional)) as [
        WrittenPolicy[],
        WrittenPolicy[],
      ]
      const [one, other] = [setOf(before), setOf(after)]
      for (const change of diffPolicies(documentsOf(before), documentsOf(after)).changes.slice(0, 50)) {
        changed++
        const [kind, id] = objectOf(change)
        const asked = ask(callerOf(change), change.permission, kind, id)
        expect(answerOf(one.decide(asked)), textOf(before)).toEqual(expected(change.before))
        expect(answerOf(other.decide(asked)), textOf(after)).toEqual(expected(change.after))
        expect(change.before.allowed).toBe(change.direction === 'loses')
        expect(change.after.allowed).toBe(change.direction === 'gains')
      }
    }),
    { numRuns: 40 },
  )
  expect(changed).toBeGreaterThan(50)
})

it('finds what changes only for callers that are named in two ways at once', () => {
  const allow = rule('allow', 'allow', 'staff')
  const before = [{ name: 'p', namespace: [], rules: [allow, rule('deny', 'deny', 'externals')] }]
  const [change, ...more] = diffPolicies(
    documentsOf(before),
    documentsOf([{ name: 'p', namespace: [], rules: [allow] }]),
  ).changes
  expect(more).toEqual([])
  expect(change).toMatchObject({ permission: 'QueryTable', direction: 'gains' })
  expect([...(change?.known.caller.groups ?? [])].toSorted()).toEqual(['externals', 'staff'])
})

it('takes a condition of the same text for the same, and of another for another', () => {
  expect(changesBetween('branch == "dev"', 'branch == "dev"')).toEqual([])
  const found = changesBetween('branch == "dev"', 'branch == "main"')
  expect(new Set(found.map(({ permission }) => permission)).size).toBe(4)
  expect(new Set(found.map(({ direction }) => direction))).toEqual(new Set(['gains', 'loses']))
})

it('finds a name for every set of patterns that some name matches', () => {
  const letters = fc.constantFrom('a', 'b', '*')
  const pattern = fc
    .string({ unit: letters, minLength: 1, maxLength: 4 })
    .filter((text) => !text.includes('**'))
  const every = namesUpTo(4)
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 4 }), (patterns) => {
      const matchers = patterns.map(matcherOf)
      const matched = (name: string): string => matchers.map((matches) => matches(name)).join()
      const classes = nameClasses(patterns).map(matched)
      expect(new Set(classes).size).toBe(classes.length)
      for (const name of every) expect(classes).toContain(matched(name))
    }),
    { numRuns: 100 },
  )
})

function changesBetween(one: string, other: string): readonly DecisionChange[] {
  return diffPolicies(documentsOf(writersWhen(one)), documentsOf(writersWhen(other))).changes
}

function writersWhen(when: string): readonly WrittenPolicy[] {
  const subjects = { any: true } as const
  const rules = [{ id: 'r', effect: 'allow', subjects, operations: ['write'], when } as const]
  return [{ name: 'p', namespace: ['a'], rules }]
}

function rule(id: string, effect: 'allow' | 'deny', group: string): WrittenRule {
  return { id, effect, subjects: { groups: [group] }, operations: ['QueryTable'] }
}

/** All names of the letters a, b and c, up to a length. */
function namesUpTo(length: number): readonly string[] {
  if (length === 0) return []
  const shorter = ['', ...namesUpTo(length - 1)]
  return [...new Set(shorter.flatMap((name) => ['a', 'b', 'c'].map((letter) => name + letter)))]
}

/** What a change is about, the same for all objects that the policies do not tell apart. */
function caseOf(
  documents: readonly PolicyDocument[],
  { namespace, table }: { readonly namespace: readonly string[]; readonly table: string | undefined },
  permission: string,
): string {
  const keys = new Set(documents.map((document) => keyOf(document.namespace)))
  let depth = namespace.length
  while (depth > 0 && !keys.has(keyOf(namespace.slice(0, depth)))) depth--
  const nearest = keyOf(namespace.slice(0, depth))
  const patterns = documents
    .filter((document) => keyOf(document.namespace) === nearest)
    .flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const isHere = depth === namespace.length && table !== undefined
  const matched = patterns.map((pattern) => isHere && matcherOf(pattern)(table))
  return JSON.stringify([nearest, matched, permission])
}

function unconditional({ rules, ...policy }: WrittenPolicy): WrittenPolicy {
  const { commits, ...rest } = policy
  const plain = rules.map(({ id, effect, subjects, operations, tables }) => ({
    id,
    effect,
    subjects,
    operations,
    ...(tables && { tables }),
  }))
  // A requirement is conditional by nature.
  return { ...(commits === undefined ? policy : rest), rules: plain }
}

function callerOf({ known: { caller } }: DecisionChange): Principal {
  if (caller.isAnonymous) return anonymousPrincipal
  return {
    name: caller.user || 'stranger',
    method: 'api-key',
    groups: caller.groups,
    credentialId: caller.key || 'unnamed',
  }
}

function objectOf({
  position: { namespace, table },
  permission,
}: DecisionChange): readonly [ObjectKind, readonly string[]] {
  const kind = kindOf(permission)
  if (table !== undefined) return [kind, [...namespace, table]]
  // Something beneath that no policy names.
  return kind === 'namespace' || kind === 'none'
    ? [kind, namespace]
    : [kind, [...namespace, 'fresh', 'fresh']]
}

function answerOf({ allowed, rule }: ReturnType<ReturnType<typeof setOf>['decide']>): unknown {
  return { allowed, rule }
}

function expected({ allowed, by }: DecisionChange['before']): unknown {
  return { allowed, rule: by && referenceTo(by) }
}
