import { LRUCache } from 'lru-cache'
import { compileCondition, isConditionError, type Condition } from '../conditions/condition.ts'
import type { ConditionError } from '../conditions/condition-errors.ts'
import { readText, type Field, type ReportProblem } from './field.ts'
import { sourceOffset } from './yaml/scalar-offset.ts'

/** Reads a condition in CEL. Errors are reported at the exact character in the file. */
export function readCondition(field: Field, report: ReportProblem): Condition | undefined {
  const text = readText(field, report)
  if (text === undefined || field.node?.kind !== 'scalar') return undefined
  const condition = compileCached(text)
  if (!isConditionError(condition)) return condition
  report(sourceOffset(field.file, field.node, condition.index), `${field.name}: ${condition.message}`)
  return undefined
}

export function compileCached(text: string): Condition | ConditionError {
  let condition = conditionCache.get(text)
  if (condition === undefined) {
    condition = compileCondition(text)
    conditionCache.set(text, condition)
  }
  return condition
}

/** Many rules have equal conditions. */
const conditionCache = new LRUCache<string, Condition | ConditionError>({ max: 1000 })
