import { CST } from 'yaml'

/** What is wrong in a text, and where. */
interface YamlError {
  readonly offset: number
  readonly message: string
}

/**
 * The faults of a document that the library composes without a word: what it leaves out, as `b` in `? "a" b`, and a
 * quote that is never closed but looks so, as in `'a''`: all that follows up to there is then one text, whatever it was.
 */
export function findIgnoredErrors(document: CST.Document): readonly YamlError[] {
  const errors: YamlError[] = []
  CST.visit(document, (item) => {
    const { key, sep, value } = item
    for (const token of [key, value]) {
      if (token && isUnclosed(token)) errors.push({ offset: token.offset, message: 'unterminated quote' })
    }
    if (!('explicitKey' in item) || value === undefined) return
    const hasColon = sep?.some(({ type }) => type === 'map-value-ind')
    if (hasColon !== true) {
      errors.push({ offset: value.offset, message: 'missing colon after a key' })
    }
  })
  return errors
}

/** Whether the quote at its end belongs to the text: it does after an odd number of what makes it do so. */
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
