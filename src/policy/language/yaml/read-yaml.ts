import { Composer, isScalar, LineCounter, type CST } from 'yaml'
import { parseYamlTokens } from '../../../lib/yaml/yaml-tokens.ts'
import { findIgnoredErrors, quotedNegationHint } from './strict-yaml.ts'
import { createYamlNode, type YamlNode } from './yaml-node.ts'

/** Line and column, both from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type Locate = (offset: number) => Position

/** Yields the content of each document of a text that is not empty and has no error. Keys may be repeated. */
export function* readYaml(
  text: string,
  error: (offset: number, message: string) => void,
): Generator<YamlNode, void> {
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
    if (!isEmpty && first === undefined) yield createYamlNode(contents)
  }

  function* reportIgnoredErrors(tokens: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of tokens) {
      if (token.type === 'document') {
        for (const { offset, message } of findIgnoredErrors(token)) error(offset, message)
      }
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

/** A condition often begins with a quote, as in `when: "reason" in context`, or with `!`. */
function suggestQuotes(message: string): string {
  if (/^Tags and anchors must be separated|^Unresolved tag: !/.test(message)) return quotedNegationHint
  return message === 'Unexpected scalar at node end'
    ? `; put the whole value in quotes of the other kind, such as '"reason" in context'`
    : ''
}
