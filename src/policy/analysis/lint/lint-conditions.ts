import type { ASTNode } from '@marcbachmann/cel-js'
import type { Permission } from '../../../catalog-api/index.ts'
import { MissingFactError, type OperationFacts, unknown } from '../../conditions/authorization-request.ts'
import {
  childNodes,
  getEvaluator,
  listNodes,
  parseCondition,
  readCall,
  readText,
  type Condition,
} from '../../conditions/condition.ts'
import {
  constantFacts,
  factsAvailableFor,
  factsStatedFor,
  listWords,
} from '../../conditions/permission-facts.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { listNamedPermissions } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import { describeConstantParts, listTexts, maxDays, yearMs } from './constant-parts.ts'
import { warn, type Remark } from './check.ts'

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
  const parts = [...describeConstantParts(when, named, now), ...describeUnguarded(when)]
  return [
    ...ended,
    ...describeConstant(rule, named, condition),
    ...warn('fact', ...describeAbsentFacts(named, condition), ...describeDefaults(named, condition)),
    ...warn(
      'pattern',
      ...describePatternProblems(when).map((one) => `has a condition with a mistaken pattern: ${one}`),
    ),
    ...warn('effect', ...parts.map((part) => `has a condition of which ${part}`)),
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
  const unknownFacts = condition.facts.filter((fact) =>
    named.some((permission) => constantFacts(permission)[fact] === unknown),
  )
  const reasons = [...results].map((result) => {
    if (result === 'failed') return 'always fails'
    return result === 'unknown'
      ? `depends on ${unknownFacts.join(', ')}, which is never known`
      : `is always ${result}`
  })
  const end = outcome ? 'so it always applies' : 'so it never applies'
  return [['error', 'condition', `has a condition that ${reasons.join(', or ')}, ${end}`]]
}

function describeAbsentFacts(named: readonly Permission[], { facts }: Condition): readonly string[] {
  return facts
    .filter((fact) => !named.some((permission) => factsAvailableFor(permission).has(fact)))
    .map((fact) => `has a condition on ${fact}, which is empty for all its operations`)
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

/** Describes claims that a condition reads without testing first whether the caller has them. */
function describeUnguarded(condition: string): readonly string[] {
  const nodes = [...listNodes(parseCondition(condition).ast)]
  const tested = nodes.flatMap((node) => {
    const call = readCall(node)
    return call?.name === 'has' ? call.args : []
  })
  const [guarded, read] = [new Set<string>(), new Set<string>()]
  for (const node of nodes) {
    if (node.op === 'in' && isClaims(node.args[1]))
      for (const name of listTexts(node.args[0])) guarded.add(name)
    if (node.op === '[]' && isClaims(node.args[0])) for (const name of listTexts(node.args[1])) read.add(name)
    if (node.op === '.' && isClaims(node.args[0])) (tested.includes(node) ? guarded : read).add(node.args[1])
  }
  return [...read]
    .filter((name) => !guarded.has(name))
    .map(
      (name) =>
        `principal.claims.${name} fails for callers without this claim; begin with has(principal.claims.${name}) &&`,
    )
}

function isClaims({ op, args }: ASTNode): boolean {
  return op === '.' && args[1] === 'claims' && args[0].op === 'id' && args[0].args === 'principal'
}

const comparisons: readonly string[] = ['==', '!=', 'in']
const textFunctions: readonly string[] = ['startsWith', 'endsWith', 'contains']

/** Describes texts in which `*` is an ordinary character, and regular expressions in `like`. */
function describePatternProblems(condition: string): readonly string[] {
  return [...listNodes(parseCondition(condition).ast)].flatMap((node) => {
    const name = readCall(node)?.name ?? node.op
    const operands = [...childNodes(node.args)].flatMap((child) => (child.op === 'list' ? child.args : child))
    const texts = operands.flatMap((operand) => readText(operand) ?? [])
    if (name === 'like') {
      const problems = texts.flatMap((text) => describeRegularExpression(text) ?? [])
      return problems.map((problem) => `in "like", ${problem}`)
    }
    if (!comparisons.includes(name) && !textFunctions.includes(name)) return []
    return texts
      .filter((text) => text.includes('*'))
      .map((text) => JSON.stringify(text))
      .map(
        (text) =>
          `"*" in ${text} is an ordinary character for "${name}"; for any characters, write like(${text})`,
      )
  })
}

/** Finds ends in the past, and those more than a year ahead, which would be forgotten. */
function describeEnd(until: string, now: number): readonly string[] {
  const end = Date.parse(until)
  if (end <= now) return [`ended at ${until} and allows nothing any more; remove it, or choose another end`]
  if (end - now <= yearMs) return []
  return [
    `ends at ${until}, in more than ${maxDays} days; choose an earlier end, or remove "until" if the grant is permanent`,
  ]
}
