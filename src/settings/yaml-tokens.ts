import { CST, Lexer, Parser } from 'yaml'

/** Deeper than any real file, and far below the limit of the library. */
const maxDepth = 200
const byteOrderMark = '\ufeff'

/**
 * Yields tokens until there is an error, which the library would not report: nesting beyond the limit, or a byte order mark
 * within a document, which would become the first character of a key. The library composes by recursion; near the end of
 * the stack Node does not throw but ends the process, as it cannot compile a regular expression.
 */
export function* parseYamlTokens(
  text: string,
  onError: (offset: number, message: string) => void,
): Generator<CST.Token> {
  const parser = new Parser()
  let isScalar = false
  for (const lexeme of new Lexer().lex(text)) {
    if (isScalar && lexeme.startsWith(byteOrderMark)) {
      onError(parser.offset, 'unexpected byte order mark (U+FEFF) within a document; remove it')
      return
    }
    isScalar = lexeme === CST.SCALAR
    yield* parser.next(lexeme)
    if (parser.stack.length > maxDepth) {
      onError(parser.offset, `nested deeper than ${maxDepth} levels`)
      return
    }
  }
  yield* parser.end()
}

/** Returns the first error of `parseYamlTokens`, if any, with its line (one-based). */
export function findTokenError(
  text: string,
): { readonly line: number; readonly message: string } | undefined {
  let error: { line: number; message: string } | undefined
  const tokens = parseYamlTokens(text, (offset, message) => {
    error = { line: text.slice(0, offset).split('\n').length, message }
  })
  while (tokens.next().done !== true);
  return error
}
