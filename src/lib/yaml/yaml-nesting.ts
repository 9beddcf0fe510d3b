import { Lexer, Parser, type CST } from 'yaml'

/** Deeper than any real file, and far below the limit of the library. */
const maxDepth = 200

export const tooDeepMessage = `nested deeper than ${maxDepth} levels`

/**
 * Yields tokens up to the nesting limit. The library composes by recursion; near the end of the stack Node does not
 * throw but ends the process, as it cannot compile a regular expression.
 */
export function* parseYamlTokens(text: string, tooDeep: (offset: number) => void): Generator<CST.Token> {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length > maxDepth) {
      tooDeep(parser.offset)
      return
    }
  }
  yield* parser.end()
}

/** Returns the line (one-based) that exceeds the nesting limit, if any. */
export function findTooDeepLine(text: string): number | undefined {
  let line: number | undefined
  const tokens = parseYamlTokens(text, (offset) => {
    line = text.slice(0, offset).split('\n').length
  })
  while (tokens.next().done !== true);
  return line
}
