import { Composer, CST, isScalar, LineCounter, type ParsedNode } from 'yaml'
import { parseYamlTokens } from '../../settings/index.ts'

/** Line and column, both from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type Locate = (offset: number) => Position

export type ReportProblem = (offset: number, message: string) => void

/** Yields the content of each document of a text that is not empty and has no error. Keys may be repeated. */
export function* readYaml(text: string, error: ReportProblem): Generator<ParsedNode, void> {
  // Pretty errors repeat the position and quote the file.
  const composer = new Composer({
    prettyErrors: false,
    schema: 'core',
    resolveKnownTags: false,
    // Only once variables are replaced can it be said which keys are equal.
    uniqueKeys: false,
  })
  for (const document of composer.compose(reportIgnoredErrors(parseYamlTokens(text, error)))) {
    const { contents } = document
    // Errors after the first one are only its consequences.
    const [first] = [...document.errors, ...document.warnings]
    if (first !== undefined) error(first.pos[0], first.message + suggestQuotes(first.message))
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null)
    if (!isEmpty && first === undefined) yield contents
  }

  function* reportIgnoredErrors(tokens: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of tokens) {
      if (token.type === 'document') findIgnoredErrors(token, error)
      yield token
    }
  }
}

export function createLocator(text: string): Locate {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1)
  return (offset) => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

/** A condition often begins with a quote, as in `when: "reason" in context`, or with `!`; a text, with a variable. */
function suggestQuotes(message: string): string {
  if (/^Tags and anchors must be separated|^Unresolved tag: !/.test(message)) return quotedNegationHint
  return message === 'Unexpected scalar at node end'
    ? `; put the whole value in quotes, such as '"reason" in context' or '{team}-writers'`
    : ''
}

/** The end of an error message: a text that is negated becomes a YAML tag. */
const quotedNegationHint = `; put a condition that begins with "!" in quotes, such as '!branch.like("ci/*")'`

/**
 * Reports errors that the library ignores: the negation in `! a`, which it drops as a YAML tag, and unterminated quotes that
 * end with an escaped quote, such as `'a''`, which would turn all text up to there into one value.
 */
function findIgnoredErrors(document: CST.Document, error: ReportProblem): void {
  CST.visit(document, (item) => {
    const { start, key, sep = [], value } = item
    for (const { type, source, offset } of [...start, ...sep]) {
      if (type === 'tag' && source === '!')
        error(offset, `"!" before a space is a YAML tag${quotedNegationHint}`)
      // The library drops the text after such a key without a colon.
      if (type === 'explicit-key-ind') error(offset, 'a key with "?" is not supported')
    }
    for (const token of [key, value])
      if (token && isUnclosed(token)) error(token.offset, 'unterminated quote')
  })
}

function isUnclosed(token: CST.Token): boolean {
  const isQuoted = token.type === 'double-quoted-scalar' || token.type === 'single-quoted-scalar'
  return isQuoted && !/^(?:'[^']*(?:''[^']*)*'|"[^"\\]*(?:\\[^][^"\\]*)*")$/.test(token.source)
}
