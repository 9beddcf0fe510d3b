import { Composer, isScalar, LineCounter, type CST, type Document } from 'yaml'
import { tooDeepMessage, parseYamlTokens } from '../../../lib/yaml/yaml-nesting.ts'
import { findIgnoredErrors } from './strict-yaml.ts'
import { createYamlNode, type YamlNode } from './yaml-node.ts'

/** The line and the column of an offset in a text, both from 1. */
export type Locate = (offset: number) => { readonly line: number; readonly column: number }

/** Takes what is found in a text, in its order. */
interface YamlVisitor {
  /** The content of a document, unless it is empty or has an error other than a repeated key. */
  readonly root: (node: YamlNode) => void
  /** An error of the text itself, whatever it is about. */
  readonly error: (offset: number, message: string) => void
}

/** Reads a YAML text (1.2, core schema) document by document. */
export function readYaml(text: string, { root, error }: YamlVisitor): void {
  // Pretty errors repeat the position, and quote the file.
  const composer = new Composer({ prettyErrors: false, schema: 'core', resolveKnownTags: false })
  const tooDeep = (offset: number): void => error(offset, tooDeepMessage)
  for (const document of composer.compose(strictly(parseYamlTokens(text, tooDeep)))) {
    const { contents } = document
    const faults = firstErrors(document)
    for (const { pos, message } of faults) error(pos[0], message)
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null)
    if (!isEmpty && faults.every(({ code }) => code === duplicateKeyCode)) root(createYamlNode(contents))
  }

  function* strictly(tokens: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of tokens) {
      if (token.type === 'document') {
        for (const { offset, message } of findIgnoredErrors(token)) error(offset, message)
      }
      yield token
    }
  }
}

/** Finds offsets in a text. */
export function createLocator(text: string): Locate {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1)
  return (offset) => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

/** The faults of a document; where one breaks it, what the library says after that are consequences of it. */
function firstErrors({ errors, warnings }: Document.Parsed): Document.Parsed['errors'] {
  const faults = [...errors, ...warnings]
  const breaking = faults.find(({ code }) => code !== duplicateKeyCode)
  return breaking === undefined ? faults : [breaking]
}

const duplicateKeyCode = 'DUPLICATE_KEY'
