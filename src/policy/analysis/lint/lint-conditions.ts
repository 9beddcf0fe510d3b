import { type Permission, permissionNames } from '../../../catalog-api/index.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'
import { getEvaluator, type Condition } from '../../conditions/condition.ts'
import {
  describeConstantParts,
  describePatternMistakes,
  maxDays,
} from '../../conditions/condition-mistakes.ts'
import { MissingFactError, unknown } from '../../conditions/fact.ts'
import {
  constantFacts,
  factsAvailableFor,
  factsStatedFor,
  listWords,
} from '../../conditions/permission-facts.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { listNamedPermissions, describePermissionSet } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import { warn, type Remark } from './finding.ts'

/**
 * Finds conditions, and parts of them, with a constant result for all operations of their rule, conditions on facts that no
 * operation of their rule has, texts that are mistaken for patterns, and rules that have ended by now.
 */
export function lintConditions({ rule }: LocatedRule): readonly Remark[] {
  const { condition, when = 'true', until } = rule
  const now = Date.now()
  const ended = until === undefined ? [] : warn('until', ...describeEnd(until, now))
  if (condition === undefined || condition.requirement !== undefined) return ended
  const named = listNamedPermissions(rule)
  const constant = describeConstantParts(when, named, now)
  return [
    ...ended,
    ...describeConstant(rule, named, condition),
    ...warn('fact', ...describeAbsentFacts(named, condition), ...describeDefaults(named, condition)),
    ...warn(
      'pattern',
      ...describePatternMistakes(when).map((one) => `has a condition with a mistaken pattern: ${one}`),
    ),
    ...warn('effect', ...constant.map((part) => `has a condition of which ${part}`)),
  ]
}

/** Result that is equal in every request. `unknown`: it depends on an unknown fact. */
type ConstantResult = 'true' | 'false' | 'failed' | 'unknown'

/** Returns the result of the condition with these facts; undefined if it depends on more of the request. */
export function constantResult(
  condition: Condition,
  permission: Permission,
  operation: OperationFacts = constantFacts(permission),
): ConstantResult | undefined {
  try {
    return getEvaluator(condition)({ operation, permission }) ? 'true' : 'false'
  } catch (error) {
    if (!(error instanceof MissingFactError)) return 'failed'
    return error.isPending ? undefined : 'unknown'
  }
}

function describeConstant(
  { effect }: PolicyRule,
  named: readonly Permission[],
  condition: Condition,
): readonly Remark[] {
  const results = new Set(named.map((permission) => constantResult(condition, permission)))
  const applies = (result: ConstantResult | undefined): boolean | undefined =>
    result && (result === 'true' || (effect === 'deny' && result !== 'false'))
  const [outcome, ...others] = new Set([...results].map(applies))
  if (outcome === undefined || others.length > 0) return []
  if (results.size === 1 && results.has('true'))
    return [['warning', 'condition', 'has a condition that is always true; remove "when"']]
  const reasons = [...results].map((result) => {
    if (result === 'failed') return 'always fails'
    return result === 'unknown' ? describeUnknown(named, condition) : `is always ${result}`
  })
  const end = outcome ? 'so it always applies' : 'so it never applies'
  return [['error', 'condition', `has a condition that ${reasons.join(', or ')}, ${end}`]]
}

function describeUnknown(named: readonly Permission[], { facts }: Condition): string {
  const found = named.flatMap((permission) =>
    facts.filter((fact) => constantFacts(permission)[fact] === unknown).map((fact) => ({ permission, fact })),
  )
  const names = new Set(found.map(({ fact }) => fact))
  const permissions = new Set(found.map(({ permission }) => permission))
  return `depends on ${[...names].join(', ')}, which is always unknown for ${describePermissionSet(permissions)}`
}

function describeAbsentFacts(named: readonly Permission[], { facts }: Condition): readonly string[] {
  const listHaving = (permissions: readonly Permission[], fact: (typeof facts)[number]) =>
    permissions.filter((permission) => factsAvailableFor(permission).has(fact))
  return facts
    .filter((fact) => listHaving(named, fact).length === 0)
    .map(
      (fact) =>
        `has a condition on ${fact}, which is empty for all its operations; ` +
        `it is a fact of ${describePermissionSet(new Set(listHaving(permissionNames, fact)))}`,
    )
}

/** Describes modes that requests mean if they state none, as clients do, if the condition differs then. */
function describeDefaults(named: readonly Permission[], condition: Condition): readonly string[] {
  const stating = condition.facts.includes('mode')
    ? named.filter((permission) => factsStatedFor(permission).has('mode'))
    : []
  const meant = stating.flatMap((permission) => {
    const [first = ''] = listWords('mode', [permission])
    const [without, stated] = ['', first].map((mode) =>
      constantResult(condition, permission, { ...constantFacts(permission), mode }),
    )
    return without && stated && without !== stated ? [first] : []
  })
  return [...new Set(meant)].map(
    (word) => `has a condition that differs for the mode "${word}" and for none, which means the same`,
  )
}

const dayMs = 24 * 60 * 60 * 1000

/** Finds ends in the past, and those that are so far away that nobody will think of them. */
function describeEnd(until: string, now: number): readonly string[] {
  const end = Date.parse(until)
  if (end <= now) return [`ended at ${until} and allows nothing any more; remove it, or choose another end`]
  if (end - now <= maxDays * dayMs) return []
  return [
    `ends at ${until}, in more than ${maxDays} days; choose an earlier end, or remove "until" if the grant is permanent`,
  ]
}
