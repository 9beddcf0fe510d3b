/**
 * A SQL expression of a request as the engine must see it. The engine takes the expression that a text begins with
 * and ignores what follows, so that `id = 1, id = 2` would delete by half of what it says; within parentheses nothing
 * may follow. A line break ends a comment.
 */
export function wholeExpression(sql: string): string {
  return sql.includes('--') ? `(${sql}\n)` : `(${sql})`
}

/** The same for a condition that may be absent; an empty one is no condition. */
export function wholeCondition(sql: string | undefined): string | null {
  return sql ? wholeExpression(sql) : null
}
