import { invalidInput } from 'catalog-gateway/catalog-api'
import { measureSql } from './measure-sql.ts'

/** The engine recurses over a chain of words, values and operators in quadratic time: 750 conditions joined by OR. */
const maxChain = 3000
/** The engine derives the types of operators again on every level: a sum of 1,500 columns took 18 s. */
const maxOperators = 300
/** The maximum nesting of calls: the engine's parser parses a wrong argument twice on each level. */
const maxCallDepth = 10

/**
 * The engine parses the first expression of a text and ignores the rest, so `id = 1, id = 2` would delete by half of
 * it; within parentheses that the text cannot close, nothing may follow. A line break ends a trailing comment. Throws
 * InvalidInput for unbalanced brackets, and for an expression too deep for the engine.
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

/** Like `parenthesizeExpression`, for an optional condition; an empty one counts as absent. */
export function parenthesizeCondition(sql: string | undefined): string | null {
  return sql ? parenthesizeExpression(sql) : null
}
