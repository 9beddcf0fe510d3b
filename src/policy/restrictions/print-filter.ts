import type {
  CallerVariable,
  FilterExpression,
  FilterTest,
  FilterValue,
  Literal,
  Operand,
} from './filter-expression.ts'

/**
 * Returns the texts that a fact of the caller stands for; undefined if the caller does not have it, or if it is anything
 * but a text or a list of texts.
 */
type ReadVariable = (variable: CallerVariable) => readonly string[] | undefined

/**
 * Prints a filter for the engine: nothing of what was parsed is copied. Names are in backticks, which are exact in
 * DataFusion's SQL as Lance reads it, texts are quoted anew, and everything is in parentheses. Returns `false` if a fact
 * that it needs is missing: then no row is meant, whatever the rest says.
 */
export function printFilter(
  expression: FilterExpression,
  readVariable: ReadVariable = () => undefined,
): string {
  try {
    return print(expression, (variable) => {
      const texts = readVariable(variable)
      if (texts === undefined) throw new MissingVariable()
      return texts.map(quoteText)
    })
  } catch (error) {
    if (error instanceof MissingVariable) return 'false'
    throw error
  }
}

/** Prints a filter for people, who see facts of the caller as in the policy: `$principal.claims.region`. */
export function printFilterAsWritten(expression: FilterExpression): string {
  return print(expression, ({ path }) => [`$${path.join('.')}`])
}

/** Returns the operands that a fact of the caller stands for, as they are printed. */
type PrintVariable = (variable: CallerVariable) => readonly string[]

class MissingVariable extends Error {}

function print(expression: FilterExpression, printVariable: PrintVariable): string {
  if ('isNegated' in expression) return printTest(expression, printVariable)
  if ('parts' in expression)
    return printBalanced(
      expression.parts.map((part) => print(part, printVariable)),
      expression.kind.toUpperCase(),
    )
  if (expression.kind === 'not') return `(NOT ${print(expression.part, printVariable)})`
  if (expression.kind === 'constant') return String(expression.value)
  if (expression.kind === 'value') return printValue(expression.value)
  const { value, operator, operand } = expression
  return `(${printValue(value)} ${operator} ${printOperand(operand, printVariable)})`
}

function printTest(test: FilterTest, printVariable: PrintVariable): string {
  const value = printValue(test.value)
  const not = test.isNegated ? 'NOT ' : ''
  if (test.kind === 'is') return `(${value} IS ${not}${test.what.toUpperCase()})`
  if (test.kind === 'like')
    return `(${value} ${not}${test.ignoresCase ? 'ILIKE' : 'LIKE'} ${quoteText(test.pattern)})`
  if (test.kind === 'between') {
    const [low, high] = [printOperand(test.low, printVariable), printOperand(test.high, printVariable)]
    return `(${value} ${not}BETWEEN ${low} AND ${high})`
  }
  const items = test.operands.flatMap((operand) => printOperands(operand, printVariable))
  // An empty list, which is a list of the caller, is no valid SQL.
  return items.length === 0 ? String(test.isNegated) : `(${value} ${not}IN (${items.join(', ')}))`
}

/** Prints a column, or a function of columns. */
export function printValue(value: FilterValue | Literal): string {
  if (value.kind === 'literal') return printLiteral(value)
  if (value.kind === 'column') return value.path.map((name) => `\`${name}\``).join('.')
  return `${value.name}(${value.arguments.map(printValue).join(', ')})`
}

function printOperand(operand: Operand, printVariable: PrintVariable): string {
  const [text, ...others] = printOperands(operand, printVariable)
  if (text === undefined || others.length > 0) throw new MissingVariable()
  return text
}

function printOperands(operand: Operand, printVariable: PrintVariable): readonly string[] {
  return operand.kind === 'literal' ? [printLiteral(operand)] : printVariable(operand)
}

function printLiteral({ type, text }: Literal): string {
  if (type === 'number' || type === 'boolean') return text
  return type === 'text' ? quoteText(text) : `${type} ${quoteText(text)}`
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** As a tree that is as deep as the logarithm of its parts: engines recurse, and a flat chain can overflow their stack. */
function printBalanced(parts: readonly string[], word: string): string {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  const half = parts.length >> 1
  return `(${printBalanced(parts.slice(0, half), word)} ${word} ${printBalanced(parts.slice(half), word)})`
}
