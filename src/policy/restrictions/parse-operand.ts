import { FilterError } from './filter-error.ts'
import type { CallerVariable, Literal, Operand } from './filter-expression.ts'
import type { TokenReader } from './token-reader.ts'

const dateGrammar = /^\d{4}-\d\d-\d\d$/
const timestampGrammar = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/

/** Parses a literal, or a fact of the caller if there may be one. Throws FilterError. */
export function parseOperand(tokens: TokenReader, hasVariables: boolean): Operand {
  if (tokens.next?.kind !== 'variable') return parseLiteral(tokens)
  if (!hasVariables) throw tokens.unexpected('a literal')
  const { text } = tokens.expect('variable')
  const variable = parseVariable(text)
  if (variable !== undefined) return variable
  const expected = '$principal.name, $principal.groups or $principal.claims.NAME'
  throw tokens.error(`$${text} is unknown; expected ${expected}`)
}

/** Throws FilterError. */
export function parseLiteral(tokens: TokenReader): Literal {
  const isNegative = tokens.takes('sign', '-')
  const number = tokens.take('number')
  if (number !== undefined)
    return { kind: 'literal', type: 'number', text: `${isNegative ? '-' : ''}${number.text}` }
  if (isNegative) throw tokens.unexpected('a number')
  const text = tokens.take('text')
  if (text !== undefined) return { kind: 'literal', type: 'text', text: text.text }
  for (const value of ['true', 'false'])
    if (tokens.takes('keyword', value)) return { kind: 'literal', type: 'boolean', text: value }
  if (tokens.takes('keyword', 'date')) return parseTime(tokens, 'date', dateGrammar, '2026-01-31')
  if (tokens.takes('keyword', 'timestamp'))
    return parseTime(tokens, 'timestamp', timestampGrammar, '2026-01-31 12:00:00')
  // Double quotes and backticks make a name in SQL.
  throw tokens.unexpected(
    tokens.next?.kind === 'name' ? "a literal, such as 'EU' in single quotes" : 'a literal',
  )
}

function parseTime(
  tokens: TokenReader,
  type: 'date' | 'timestamp',
  grammar: RegExp,
  example: string,
): Literal {
  const { text, offset } = tokens.expect('text')
  if (!grammar.test(text)) throw new FilterError(`expected a ${type} such as '${example}'`, offset)
  return { kind: 'literal', type, text }
}

/**
 * Reads the name of a fact of the caller, without `$`: `principal.name`, `principal.groups` or `principal.claims.NAME`.
 * Returns undefined for any other.
 */
function parseVariable(text: string): CallerVariable | undefined {
  const path = text.split('.')
  const isKnown =
    text === 'principal.name' ||
    text === 'principal.groups' ||
    (path.length === 3 && text.startsWith('principal.claims.'))
  return isKnown ? { kind: 'variable', path } : undefined
}
