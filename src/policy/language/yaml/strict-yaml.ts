import { CST } from 'yaml'

/** The end of an error message: a text that is negated becomes a YAML tag. */
export const quotedNegationHint = `; put a condition that begins with "!" in quotes, such as '!branch.like("ci/*")'`

interface YamlError {
  readonly offset: number
  readonly message: string
}

/**
 * Returns errors that the library ignores: content that it drops, such as `b` in `? "a" b` and the negation in `! a`, a
 * YAML tag, and unterminated quotes that end with an escaped quote, such as `'a''`, which would turn all text up to there
 * into one value.
 */
export function findIgnoredErrors(document: CST.Document): readonly YamlError[] {
  const errors: YamlError[] = []
  CST.visit(document, (item) => {
    const { start, key, sep = [], value } = item
    for (const token of [...start, ...sep]) {
      if (token.type === 'tag' && token.source === '!')
        errors.push({
          offset: token.offset,
          message: `"!" before a space is a YAML tag${quotedNegationHint}`,
        })
    }
    for (const token of [key, value]) {
      if (token && isUnclosed(token)) errors.push({ offset: token.offset, message: 'unterminated quote' })
    }
    if (!('explicitKey' in item) || value === undefined) return
    const hasColon = sep.some(({ type }) => type === 'map-value-ind')
    if (!hasColon) {
      errors.push({ offset: value.offset, message: 'missing colon after a key' })
    }
  })
  return errors
}

/** Whether the final quote is escaped, that is, preceded by an odd number of escape characters. */
function isUnclosed(token: CST.Token): boolean {
  const isDouble = token.type === 'double-quoted-scalar'
  if (!isDouble && token.type !== 'single-quoted-scalar') return false
  const { source } = token
  if (!source.endsWith(isDouble ? '"' : "'")) return false
  const escape = isDouble ? '\\' : "'"
  let first = source.length - 1
  while (first > 1 && source[first - 1] === escape) first--
  return (source.length - 1 - first) % 2 === 1
}
