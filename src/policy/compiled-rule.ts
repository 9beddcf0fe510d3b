import type { Permission } from '../interface/permissions.ts'
import type { Condition } from './condition.ts'
import type { Decision } from './decision.ts'
import { FactWithoutValue } from './fact.ts'
import type { NameMatcher } from './name-pattern.ts'
import type { Inquiry } from './question.ts'
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
  readonly samples: readonly string[] | undefined
  readonly condition: Condition | undefined
  /** What is answered where this rule decides; made once, when it first does. */
  readonly decision: Decision
  /** Takes the error of a condition that could not be told. */
  failed(error: unknown): void
}

/** Stands for any table in the namespace of the rules, also one that does not exist yet. */
export const anyTable = Symbol('any table')

/**
 * What is asked of the rules of a namespace: the name of a table directly in it, or undefined for the namespace
 * itself and whatever lies deeper.
 */
export type TableQuestion = string | typeof anyTable | undefined

/**
 * How a condition counts that depends on a fact that is pending, or on an id that is not known: against the caller
 * (`worst`: a deny applies, an allow does not) or for the caller (`best`). A condition that depends on a fact that is
 * unknown, or that fails, always counts against the caller.
 */
export type Outlook = 'worst' | 'best'

/** What is asked of every rule on the way of a decision. */
export interface Asked {
  readonly inquiry: Inquiry
  readonly caller: NumberedCaller
  /** The name of what is asked about, and how deep the namespace is that it is in; undefined for a namespace. */
  readonly table: string | undefined
  readonly depth: number
  readonly outlook: Outlook
  /** What conditions say that say the same of every object that is asked about, as far as that was asked before. */
  readonly given: GivenAnswers
  /** Becomes true if another condition was asked: all the same, the result may be another the next time. */
  metCondition: boolean
  /** Becomes true if a condition depended on what is pending. */
  metPending: boolean
}

/** What conditions say of all objects alike; none of them fails. */
export type GivenAnswers = ReadonlyMap<Condition, boolean | 'pending'>

/** Where every condition is to be asked. */
export const nothingGiven: GivenAnswers = new Map()

/** Whether a rule about the permission that names the caller decides the question: the one place that asks rules. */
export function applies(rule: CompiledRule, asked: Asked, table: TableQuestion): boolean {
  const { tables, except } = rule
  if (tables !== undefined && table !== anyTable) {
    if (table === undefined || !tables.some((matches) => matches(table))) return false
  }
  return !except.some((number) => asked.caller.numbers.has(number)) && holds(rule, asked)
}

/** Whether the condition of the rule makes it apply, if it has one. */
function holds(rule: CompiledRule, asked: Asked): boolean {
  const { condition } = rule
  if (condition === undefined) return true
  const { inquiry } = asked
  const given = asked.given.get(condition)
  if (given !== undefined) return given === 'pending' ? byOutlook(rule, asked) : given
  asked.metCondition = true
  if (condition.readsId && inquiry.id === undefined) return byOutlook(rule, asked)
  try {
    return condition.holds(inquiry)
  } catch (error) {
    if (!(error instanceof FactWithoutValue)) rule.failed(error)
    else if (error.isPending) return byOutlook(rule, asked)
    return rule.effect === 'deny'
  }
}

function byOutlook({ effect }: CompiledRule, asked: Asked): boolean {
  asked.metPending = true
  return (effect === 'deny') === (asked.outlook === 'worst')
}
