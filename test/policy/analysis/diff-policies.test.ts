import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anonymousPrincipal, type Principal } from '../../../src/identity/principal.ts'
import type { ObjectKind } from '../../../src/catalog-api/operations.ts'
import { diffPolicies, type PolicyChange } from '../../../src/policy/analysis/diff-policies.ts'
import { whoCanTag } from '../../../src/policy/analysis/grants.ts'
import { listPositionClasses, overlapPatterns } from '../../../src/policy/analysis/steps.ts'
import { createNameMatcher } from '../../../src/policy/conditions/name-pattern.ts'
import {
  namespaceKey,
  objectKindOfPermission,
  objectPosition,
  type ObjectPosition,
} from '../../../src/policy/engine/object-position.ts'
import type { PolicyDocument } from '../../../src/policy/language/policy-document.ts'
import type { PolicySet } from '../../../src/policy/policy-set.ts'
import { processorMsOf } from '../../support/cost-growth.ts'
import { arbitraryPolicies, arbitraryRequest, taggedPolicies } from '../policy-arbitraries.ts'
import {
  createAuthorizationRequest,
  compilePolicySet,
  formatPolicies,
  type WrittenPolicy,
  type WrittenRule,
  parseDocuments,
} from '../policy-builder.ts'
import { isThorough } from '../../support/thorough.ts'

/** Namespace permissions are not requested on tables. */
const sensible = arbitraryRequest.filter(
  ({ kind, id, permission }) =>
    objectPosition(kind, id).table === undefined || objectKindOfPermission(permission) !== 'namespace',
)
const requests = fc.array(sensible, { minLength: 20, maxLength: 20 })

const anyPolicies = fc.oneof(arbitraryPolicies, taggedPolicies)
const edited = fc
  .tuple(anyPolicies, anyPolicies, fc.nat(5))
  .map(
    ([before, others, position]) =>
      [before, [...before.toSpliced(position, 1), ...others.slice(0, 1)]] as const,
  )

it('lists every decision that changes', () => {
  let changed = 0
  fc.assert(
    fc.property(edited, requests, ([before, after], requests) => {
      const [one, other] = [compilePolicySet(before), compilePolicySet(after)]
      const documents = [...parseDocuments(before), ...parseDocuments(after)]
      const changes = diffPolicies(one, other)
      for (const request of requests) {
        const isAllowed = other.decide(request).allowed
        if (one.decide(request).allowed === isAllowed) continue
        changed++
        const position = objectPosition(request.kind, request.id)
        const listed = changes.some(
          (change) =>
            change.operation === request.permission &&
            change.direction === (isAllowed ? 'gains' : 'loses') &&
            represents(documents, change, position),
        )
        expect(listed, `${formatPolicies(before)}\n=>\n${formatPolicies(after)}`).toBe(true)
      }
    }),
    { numRuns: isThorough ? 60 : 13 },
  )
  expect(changed).toBeGreaterThan(3)
})

it('lists only decisions that change if no rule is conditional', () => {
  let changed = 0
  fc.assert(
    fc.property(edited, (pair) => {
      const [before, after] = pair.map((policies) => policies.map(unconditional)) as [
        WrittenPolicy[],
        WrittenPolicy[],
      ]
      const [one, other] = [compilePolicySet(before), compilePolicySet(after)]
      for (const change of diffPolicies(one, other).slice(0, 50)) {
        changed++
        const [kind, id] = objectOf(change)
        const request = createAuthorizationRequest(callerOf(change), change.operation, kind, id)
        expect(responseOf(one.decide(request)), formatPolicies(before)).toEqual(expected(change.before))
        expect(responseOf(other.decide(request)), formatPolicies(after)).toEqual(expected(change.after))
        expect(change.before.allowed).toBe(change.direction === 'loses')
        expect(change.after.allowed).toBe(change.direction === 'gains')
      }
    }),
    { numRuns: isThorough ? 40 : 7 },
  )
  expect(changed).toBeGreaterThan(15)
})

it('finds changes that affect only callers named by two rules', () => {
  const allow = rule('allow', 'allow', 'staff')
  const before = [{ name: 'p', namespace: [], rules: [allow, rule('deny', 'deny', 'externals')] }]
  const [change, ...more] = diffPolicies(
    compilePolicySet(before),
    compilePolicySet([{ name: 'p', namespace: [], rules: [allow] }]),
  )
  expect(more).toEqual([])
  expect(change).toMatchObject({ operation: 'QueryTable', direction: 'gains' })
  expect(change?.caller.groups.toSorted()).toEqual(['externals', 'staff'])
})

it('treats conditions as equal if and only if their texts are equal', () => {
  expect(changesBetween('branch == "dev"', 'branch == "dev"')).toEqual([])
  const found = changesBetween('branch == "dev"', 'branch == "main"')
  expect(new Set(found.map(({ operation }) => operation)).size).toBe(7)
  expect(new Set(found.map(({ direction }) => direction))).toEqual(new Set(['gains', 'loses']))
})

it('decides a condition on the operation for each of them', () => {
  const found = changesBetween('operation == "InsertIntoTable"', 'operation == "UpdateTable"')
  expect(found.map(({ operation, direction, conditions }) => ({ operation, direction, conditions }))).toEqual(
    [
      { operation: 'InsertIntoTable', direction: 'loses', conditions: {} },
      { operation: 'UpdateTable', direction: 'gains', conditions: {} },
    ],
  )
})

it('two patterns have overlaps if and only if a name matches both, and all names of an overlap do', () => {
  const letters = fc.constantFrom('a', 'b', '*')
  const pattern = fc.string({ unit: letters, minLength: 1, maxLength: 5 })
  const every = namesUpTo(5)
  fc.assert(
    fc.property(pattern, pattern, (one, other) => {
      const isInBoth = (name: string) => createNameMatcher(one)(name) && createNameMatcher(other)(name)
      const overlaps = overlapPatterns(one, other)
      if (overlaps.length === 0) expect(every.filter(isInBoth)).toEqual([])
      for (const overlap of overlaps) expect(isInBoth(overlap.replaceAll('*', 'c')), overlap).toBe(true)
    }),
    { numRuns: isThorough ? 500 : 30 },
  )
})

const manyPatterns = Array.from({ length: 16 }, (_, at) => `*pii${at}x*`)

it('many patterns of the kind *x* have one name each, in diff and in who-can --tag', () => {
  const deny = { ...rule('deny', 'deny', 'staff'), tables: manyPatterns }
  const allow = rule('allow', 'allow', 'staff')
  const tags = { namespace: ['pii'] }
  const before = compilePolicySet([{ name: 'p', namespace: ['a'], tags, rules: [deny] }])
  const after = compilePolicySet([{ name: 'p', namespace: ['a'], tags, rules: [deny, allow] }])
  expect(listPositionClasses([before, after], ['a'])).toHaveLength(1 + manyPatterns.length)
  expect(diffPolicies(before, after)).toMatchObject([{ namespace: ['a'], table: undefined }])
  expect(whoCanTag(after, 'QueryTable', 'pii')).toHaveLength(1 + manyPatterns.length)
})

it('an allow and a deny of overlapping patterns are compared for a table of both', () => {
  const allow = { ...rule('allow', 'allow', 'staff'), tables: ['*pii*'] }
  const deny = { ...rule('deny', 'deny', 'staff'), tables: ['*ssn*'] }
  const [before, after] = [[allow], [allow, deny]].map((rules) =>
    compilePolicySet([{ name: 'p', namespace: ['a'], rules }]),
  )
  const changes = diffPolicies(before ?? compilePolicySet([]), after ?? compilePolicySet([]))
  const tables = changes.flatMap(({ operation, table }) => (operation === 'QueryTable' ? table : []))
  expect(tables).toEqual([expect.stringMatching(/pii.*ssn|ssn.*pii/)])
})

it('an overlap is compared in both orders, as another rule may decide about one of them', () => {
  const allow = { ...rule('allow', 'allow', 'staff'), tables: ['*pii*'] }
  const deny = (id: string, table: string) => ({ ...rule(id, 'deny', 'staff'), tables: [table] })
  for (const known of ['*pii*ssn*', '*ssn*pii*']) {
    const rules = [allow, deny('known', known)]
    const before = compilePolicySet([{ name: 'p', namespace: ['a'], rules }])
    const after = compilePolicySet([
      { name: 'p', namespace: ['a'], rules: [...rules, deny('deny', '*ssn*')] },
    ])
    const changes = diffPolicies(before, after)
    expect(changes).toMatchObject([{ direction: 'loses', operation: 'QueryTable' }])
  }
})

function tenRules(letter: string, effect: 'allow' | 'deny'): readonly WrittenRule[] {
  return Array.from({ length: 10 }, (_, at) => ({
    ...rule(`${effect}${at}`, effect, `${letter}${at}`),
    operations: ['read', 'write'],
    tables: [`*${letter}${at}x*`],
  }))
}

it.runIf(isThorough)('compares ten patterns of the kind *x* with ten others in a second', async () => {
  const allows = tenRules('p', 'allow')
  const [before, after] = [allows, [...allows, ...tenRules('q', 'deny')]].map((rules) =>
    compilePolicySet([{ name: 'p', namespace: ['a'], rules }]),
  ) as [PolicySet, PolicySet]
  const work = () => diffPolicies(before, after)
  expect(await processorMsOf(work)).toBeLessThan(2_000)
  // Each pair has one name.
  expect(listPositionClasses([before, after], ['a'])).toHaveLength(1 + 20 + 100)
})

function changesBetween(one: string, other: string): readonly PolicyChange[] {
  return diffPolicies(compilePolicySet(writersWhen(one)), compilePolicySet(writersWhen(other)))
}

function writersWhen(when: string): readonly WrittenPolicy[] {
  const subjects = { any: true } as const
  const rules = [{ id: 'r', effect: 'allow', subjects, operations: ['write'], when } as const]
  return [{ name: 'p', namespace: ['a'], rules }]
}

function rule(id: string, effect: 'allow' | 'deny', group: string): WrittenRule {
  return { id, effect, subjects: { groups: [group] }, operations: ['QueryTable'] }
}

/** All names over the letters a, b and c up to a length. */
function namesUpTo(length: number): readonly string[] {
  if (length === 0) return []
  const shorter = ['', ...namesUpTo(length - 1)]
  return [...new Set(shorter.flatMap((name) => ['a', 'b', 'c'].map((letter) => name + letter)))]
}

function matches(pattern: string, name: string | undefined): boolean {
  return name !== undefined && createNameMatcher(pattern)(name)
}

/** Whether all rules that decide about the listed position decide about the other one, too. */
function represents(
  documents: readonly PolicyDocument[],
  listed: ObjectPosition,
  { namespace, table }: ObjectPosition,
): boolean {
  const keys = new Set(documents.map((document) => namespaceKey(document.namespace)))
  let depth = namespace.length
  while (depth > 0 && !keys.has(namespaceKey(namespace.slice(0, depth)))) depth--
  const nearest = namespaceKey(namespace.slice(0, depth))
  if (namespaceKey(listed.namespace) !== nearest) return false
  const patterns = documents
    .filter((document) => namespaceKey(document.namespace) === nearest)
    .flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const own = depth === namespace.length ? table : undefined
  return patterns.every((pattern) => !matches(pattern, listed.table) || matches(pattern, own))
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
  // Requirements are always conditional.
  return { ...(commits === undefined ? policy : rest), rules: plain }
}

function callerOf({ caller: { anonymous, user, key, groups } }: PolicyChange): Principal {
  if (anonymous) return anonymousPrincipal
  return {
    name: user ?? 'stranger',
    method: 'api-key',
    groups: new Set(groups),
    credentialId: key ?? 'unnamed',
  }
}

function objectOf({ namespace, table, operation }: PolicyChange): readonly [ObjectKind, readonly string[]] {
  const kind = objectKindOfPermission(operation)
  const transaction = kind === 'transaction' ? ['1'] : []
  if (table !== undefined) return [kind, [...namespace, table, ...transaction]]
  // An object beneath that no policy names.
  return kind === 'namespace' || kind === 'none'
    ? [kind, namespace]
    : [kind, [...namespace, 'fresh', 'fresh', ...transaction]]
}

function responseOf({ allowed, rule }: ReturnType<ReturnType<typeof compilePolicySet>['decide']>): unknown {
  return { allowed, rule }
}

function expected({ allowed, rule }: PolicyChange['before']): unknown {
  const { implication: _, ...reference } = rule ?? {}
  return { allowed, rule: rule && reference }
}
