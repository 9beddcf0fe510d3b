import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anonymousPrincipal, type Principal } from '../../../src/identity/principal.ts'
import type { ObjectKind } from '../../../src/catalog-api/operations.ts'
import { diffPolicies, type DecisionChange } from '../../../src/policy/analysis/diff-policies.ts'
import { representativeNames } from '../../../src/policy/analysis/name-classes.ts'
import { createNameMatcher } from '../../../src/policy/conditions/name-pattern.ts'
import { objectKindOfPermission } from '../../../src/policy/language/permission-object-kind.ts'
import type { PolicyDocument } from '../../../src/policy/language/policy-document.ts'
import {
  namespaceKey,
  objectPosition,
  createRuleReference,
} from '../../../src/policy/analysis/reaching-rules.ts'
import { parseDocuments } from '../parse-documents.ts'
import { arbitraryPolicies, arbitraryRequest, taggedPolicies } from '../policy-arbitraries.ts'
import {
  createAuthorizationRequest,
  compilePolicySet,
  formatPolicies,
  type WrittenPolicy,
  type WrittenRule,
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
      const { changes } = diffPolicies(parseDocuments(before), parseDocuments(after))
      const named = new Set(changes.map((change) => caseOf(documents, change.position, change.permission)))
      for (const request of requests) {
        if (one.decide(request).allowed === other.decide(request).allowed) continue
        changed++
        const position = objectPosition(request.kind, request.id)
        expect(named, formatPolicies(after)).toContain(caseOf(documents, position, request.permission))
      }
    }),
    { numRuns: isThorough ? 60 : 40 },
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
      for (const change of diffPolicies(parseDocuments(before), parseDocuments(after)).changes.slice(0, 50)) {
        changed++
        const [kind, id] = objectOf(change)
        const request = createAuthorizationRequest(callerOf(change), change.permission, kind, id)
        expect(responseOf(one.decide(request)), formatPolicies(before)).toEqual(expected(change.before))
        expect(responseOf(other.decide(request)), formatPolicies(after)).toEqual(expected(change.after))
        expect(change.before.allowed).toBe(change.direction === 'loses')
        expect(change.after.allowed).toBe(change.direction === 'gains')
      }
    }),
    { numRuns: isThorough ? 40 : 20 },
  )
  expect(changed).toBeGreaterThan(50)
})

it('finds changes that affect only callers named by two rules', () => {
  const allow = rule('allow', 'allow', 'staff')
  const before = [{ name: 'p', namespace: [], rules: [allow, rule('deny', 'deny', 'externals')] }]
  const [change, ...more] = diffPolicies(
    parseDocuments(before),
    parseDocuments([{ name: 'p', namespace: [], rules: [allow] }]),
  ).changes
  expect(more).toEqual([])
  expect(change).toMatchObject({ permission: 'QueryTable', direction: 'gains' })
  expect([...(change?.known.caller.groups ?? [])].toSorted()).toEqual(['externals', 'staff'])
})

it('treats conditions as equal if and only if their texts are equal', () => {
  expect(changesBetween('branch == "dev"', 'branch == "dev"')).toEqual([])
  const found = changesBetween('branch == "dev"', 'branch == "main"')
  expect(new Set(found.map(({ permission }) => permission)).size).toBe(7)
  expect(new Set(found.map(({ direction }) => direction))).toEqual(new Set(['gains', 'loses']))
})

it('finds a representative name for every set of matching patterns', () => {
  const letters = fc.constantFrom('a', 'b', '*')
  const pattern = fc
    .string({ unit: letters, minLength: 1, maxLength: 4 })
    .filter((text) => !text.includes('**'))
  const every = namesUpTo(4)
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 4 }), (patterns) => {
      const matchers = patterns.map(createNameMatcher)
      const matched = (name: string): string => matchers.map((matches) => matches(name)).join()
      const classes = representativeNames(patterns).map(matched)
      expect(new Set(classes).size).toBe(classes.length)
      for (const name of every) expect(classes).toContain(matched(name))
    }),
    { numRuns: isThorough ? 100 : 50 },
  )
})

function changesBetween(one: string, other: string): readonly DecisionChange[] {
  return diffPolicies(parseDocuments(writersWhen(one)), parseDocuments(writersWhen(other))).changes
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

/** Serializes a change; equal for objects that the policies do not distinguish. */
function caseOf(
  documents: readonly PolicyDocument[],
  { namespace, table }: { readonly namespace: readonly string[]; readonly table: string | undefined },
  permission: string,
): string {
  const keys = new Set(documents.map((document) => namespaceKey(document.namespace)))
  let depth = namespace.length
  while (depth > 0 && !keys.has(namespaceKey(namespace.slice(0, depth)))) depth--
  const nearest = namespaceKey(namespace.slice(0, depth))
  const patterns = documents
    .filter((document) => namespaceKey(document.namespace) === nearest)
    .flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const isHere = depth === namespace.length && table !== undefined
  const matched = patterns.map((pattern) => isHere && createNameMatcher(pattern)(table))
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
  // Requirements are always conditional.
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
  const kind = objectKindOfPermission(permission)
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

function expected({ allowed, decidingRule }: DecisionChange['before']): unknown {
  return { allowed, rule: decidingRule && createRuleReference(decidingRule) }
}
