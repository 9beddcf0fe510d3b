import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import type { Decision, RuleReference } from './decision.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { NameMatcher } from '../conditions/name-pattern.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import type { NumberedCaller } from './subject-numbers.ts'

export interface CompiledRule {
  /** Position among all rules, by file and then from top to bottom. */
  readonly order: number
  readonly effect: 'allow' | 'deny'
  readonly permissions: ReadonlySet<Permission>
  /** Subjects and excepted subjects, as numbers of subject-numbers.ts. */
  readonly subjects: readonly number[]
  readonly except: readonly number[]
  /** Undefined if the rule covers the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  /** For each of `tables`, a name that represents all its matches (name-pattern.ts). */
  readonly sampleNames: readonly string[] | undefined
  readonly condition: Condition | undefined
  /** When a grant ends, in milliseconds since 1970: its condition is false then, whatever the id. Infinity for no end. */
  readonly endsAt: number
  /** What the rule leaves of its tables, if it is a restriction. */
  readonly restriction: WrittenRestriction | undefined
  /** What a denied caller reads. */
  readonly message: string | undefined
  readonly reference: RuleReference
  /** Decision if this rule decides; created on first use. */
  readonly decision: Decision
  reportFailure(error: unknown): void
}

/** Any table in the namespace of the rules, including tables that do not exist yet. */
export const anyTable = Symbol('any table')

/** A table directly in the namespace of the rules; undefined for the namespace itself and deeper objects. */
export type TableSelector = string | typeof anyTable | undefined

/**
 * How a condition on a pending fact or an unknown id is decided: `pessimistic` against the caller, `optimistic` for the
 * caller. A condition that fails or depends on an unknown fact is always decided against the caller.
 */
export type PendingAssumption = 'pessimistic' | 'optimistic'

export interface Evaluation {
  readonly input: ConditionInput
  readonly caller: NumberedCaller
  /** Name of the table and depth of its namespace; undefined for a namespace. */
  readonly table: string | undefined
  readonly depth: number
  readonly assumption: PendingAssumption
  /** Precomputed results of conditions that are equal for all objects of the evaluation. */
  readonly knownConditions: KnownConditions
  /** Set to true if a condition that is not precomputed was evaluated: the result must not be cached. */
  evaluatedCondition: boolean
  /** Set to true if a condition depended on a pending fact. */
  foundPending: boolean
}

/** Precomputed results of conditions. None of these conditions fails. */
export type KnownConditions = ReadonlyMap<Condition, boolean | 'pending'>

export const noKnownConditions: KnownConditions = new Map()

/** Assumes that the rule covers the permission and names the caller. All rules are evaluated here. */
export function ruleApplies(rule: CompiledRule, evaluation: Evaluation, table: TableSelector): boolean {
  return concernsTable(rule, evaluation, table) && conditionApplies(rule, evaluation)
}

/** Whether only its condition can keep the rule from applying. Assumes the same. */
export function concernsTable(
  { tables, except }: CompiledRule,
  evaluation: Evaluation,
  table: TableSelector,
): boolean {
  if (tables !== undefined && table !== anyTable) {
    if (table === undefined || !tables.some((matches) => matches(table))) return false
  }
  return !except.some((number) => evaluation.caller.subjects.has(number))
}

function conditionApplies(rule: CompiledRule, evaluation: Evaluation): boolean {
  const { condition } = rule
  if (condition === undefined) return true
  const { input } = evaluation
  const known = evaluation.knownConditions.get(condition)
  if (known !== undefined) return known === 'pending' ? applyAssumption(rule, evaluation) : known
  evaluation.evaluatedCondition = true
  if (condition.readsId && input.id === undefined)
    return input.request.now.getTime() < rule.endsAt && applyAssumption(rule, evaluation)
  try {
    return condition.evaluate(input)
  } catch (error) {
    if (!(error instanceof MissingFactError)) rule.reportFailure(error)
    else if (error.isPending) return applyAssumption(rule, evaluation)
    return rule.effect === 'deny'
  }
}

function applyAssumption({ effect }: CompiledRule, evaluation: Evaluation): boolean {
  evaluation.foundPending = true
  return (effect === 'deny') === (evaluation.assumption === 'pessimistic')
}
