import { Lexer, Parser, type CST } from 'yaml'

/** Deeper than anybody writes, and far from what the library can take. */
const maxDepth = 200

/** What is said of maps and lists that stand too deep in each other. */
export const tooDeepMessage = `nested deeper than ${maxDepth} levels`

/**
 * What the library makes documents of, up to what is too deep. It makes them by recursion, and where that comes near
 * the end of the stack, Node does not throw: it ends the process, as it cannot compile a regular expression.
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

/** The line, from 1, in which a text nests too deep to be given to the library; undefined where none does. */
export function findTooDeepLine(text: string): number | undefined {
  let line: number | undefined
  const tokens = parseYamlTokens(text, (offset) => {
    line = text.slice(0, offset).split('\n').length
  })
  while (tokens.next().done !== true);
  return line
}
