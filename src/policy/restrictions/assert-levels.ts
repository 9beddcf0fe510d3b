import { FilterError } from './filter-error.ts'
import type { FilterExpression, FilterValue, Literal } from './filter-expression.ts'

/**
 * Engines recurse over what is printed. The SQL parser of DataFusion takes 50 levels and needs two for each level here;
 * the others are for a comparison, for the condition on rows that is added, and for parentheses of the catalog.
 */
const maxLevels = 16

/** Throws FilterError for a filter that is too deep for engines. */
export function assertLevels(expression: FilterExpression): void {
  const levels = countLevels(expression)
  if (levels <= maxLevels) return
  const counted = 'NOT has one, a function two, and a chain of 1000 conditions ten'
  throw new FilterError(`it has ${levels} levels; expected at most ${maxLevels}: ${counted}`, 0)
}

/** Counts AND and OR as the trees that are printed. */
function countLevels(expression: FilterExpression): number {
  if ('parts' in expression)
    return Math.ceil(Math.log2(expression.parts.length)) + Math.max(...expression.parts.map(countLevels))
  if ('part' in expression) return 1 + countLevels(expression.part)
  // The parsers of engines may need exponential time for calls within each other.
  return expression.kind === 'constant' ? 0 : countCalls(expression.value) * 2
}

function countCalls(value: FilterValue | Literal): number {
  return value.kind === 'call' ? 1 + Math.max(...value.arguments.map(countCalls)) : 0
}
