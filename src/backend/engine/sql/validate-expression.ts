import { invalidInput } from '../../../catalog-api/catalog-error.ts'
import { measureSql } from './measure-sql.ts'

/**
 * The longest chain of parts (words, values, operators) in SQL for the engine, which works on it level by level on
 * the stack of a thread and takes time with the square of it: 750 conditions `id = 1` joined by OR.
 */
const maxChain = 3000
/**
 * The most operators that compute a value from others. The engine determines their types anew on every level: a sum of
 * 1,500 columns took it 18 seconds, a hundred times as long as conditions of that length.
 */
const maxOperators = 300
/** The deepest nesting of calls: the engine's parser reads a wrong argument twice on each level. */
const maxCallDepth = 10

/**
 * A SQL expression of a request as the engine must see it. The engine takes the expression that a text begins with
 * and ignores what follows, so that `id = 1, id = 2` would delete by half of what it says; within parentheses that
 * the text does not close itself, nothing may follow. A line break ends a comment. Throws InvalidInput for a text
 * whose brackets do not match, and for one that is too deep for the stack or the parser of the engine.
 */
export function parenthesizeExpression(sql: string): string {
  const { chain, operators, calls } = measureSql(sql)
  if (chain > maxChain) {
    throw invalidInput(
      `the SQL is a chain of ${chain} words, values and operators; expected at most ${maxChain}: ` +
        'use IN (...) for many values, or group conditions with parentheses',
    )
  }
  if (operators > maxOperators) {
    throw invalidInput(
      `the SQL computes a value with ${operators} operators; expected at most ${maxOperators} between AND and OR`,
    )
  }
  if (calls > maxCallDepth) {
    throw invalidInput(`the SQL nests ${calls} calls; expected at most ${maxCallDepth}`)
  }
  return sql.includes('--') ? `(${sql}\n)` : `(${sql})`
}

/** The same for a condition that may be absent; an empty one is no condition. */
export function parenthesizeCondition(sql: string | undefined): string | null {
  return sql ? parenthesizeExpression(sql) : null
}
