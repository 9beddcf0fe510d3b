import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { Decision } from './decision.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { NameMatcher } from '../conditions/name-pattern.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import type { NumberedCaller } from './subject-numbers.ts'

/** A rule made ready to be asked. */
export interface CompiledRule {
  /** Its place among all rules: by file, and from the top of each. */
  readonly order: number
  readonly effect: 'allow' | 'deny'
  readonly permissions: ReadonlySet<Permission>
  /** Whom it concerns, and whom of these it does not concern all the same, as subject-numbers.ts numbers them. */
  readonly subjects: readonly number[]
  readonly except: readonly number[]
  /** Undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  /** For each of `tables` a name that stands for all that it matches (name-pattern.ts). */
  readonly sampleNames: readonly string[] | undefined
  readonly condition: Condition | undefined
  /** What is answered where this rule decides; made once, when it first does. */
  readonly decision: Decision
  /** Takes the error of a condition that could not be told. */
  reportFailure(error: unknown): void
}

/** Stands for any table in the namespace of the rules, also one that does not exist yet. */
export const anyTable = Symbol('any table')

/**
 * What is asked of the rules of a namespace: the name of a table directly in it, or undefined for the namespace
 * itself and whatever lies deeper.
 */
export type TableSelector = string | typeof anyTable | undefined

/**
 * How a condition counts that depends on a fact that is pending, or on an id that is not known: against the caller
 * (`worst`: a deny applies, an allow does not) or for the caller (`best`). A condition that depends on a fact that is
 * unknown, or that fails, always counts against the caller.
 */
export type PendingAssumption = 'worst' | 'best'

/** What is asked of every rule on the way of a decision. */
export interface Evaluation {
  readonly input: ConditionInput
  readonly caller: NumberedCaller
  /** The name of what is asked about, and how deep the namespace is that it is in; undefined for a namespace. */
  readonly table: string | undefined
  readonly depth: number
  readonly assumption: PendingAssumption
  /** What conditions say that say the same of every object that is asked about, as far as that was asked before. */
  readonly knownConditions: KnownConditions
  /** Becomes true if another condition was asked: all the same, the result may be another the next time. */
  evaluatedCondition: boolean
  /** Becomes true if a condition depended on what is pending. */
  foundPending: boolean
}

/** What conditions say of all objects alike; none of them fails. */
export type KnownConditions = ReadonlyMap<Condition, boolean | 'pending'>

/** Where every condition is to be asked. */
export const noKnownConditions: KnownConditions = new Map()

/** Whether a rule about the permission that names the caller decides the question: the one place that asks rules. */
export function ruleApplies(rule: CompiledRule, evaluation: Evaluation, table: TableSelector): boolean {
  const { tables, except } = rule
  if (tables !== undefined && table !== anyTable) {
    if (table === undefined || !tables.some((matches) => matches(table))) return false
  }
  return (
    !except.some((number) => evaluation.caller.subjects.has(number)) && conditionApplies(rule, evaluation)
  )
}

/** Whether the condition of the rule makes it apply, if it has one. */
function conditionApplies(rule: CompiledRule, requested: Evaluation): boolean {
  const { condition } = rule
  if (condition === undefined) return true
  const { input } = requested
  const stated = requested.knownConditions.get(condition)
  if (stated !== undefined) return stated === 'pending' ? applyAssumption(rule, requested) : stated
  requested.evaluatedCondition = true
  if (condition.readsId && input.id === undefined) return applyAssumption(rule, requested)
  try {
    return condition.evaluate(input)
  } catch (error) {
    if (!(error instanceof MissingFactError)) rule.reportFailure(error)
    else if (error.isPending) return applyAssumption(rule, requested)
    return rule.effect === 'deny'
  }
}

function applyAssumption({ effect }: CompiledRule, requested: Evaluation): boolean {
  requested.foundPending = true
  return (effect === 'deny') === (requested.assumption === 'worst')
}
