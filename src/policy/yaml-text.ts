import { Composer, isScalar, type CST, type Document } from 'yaml'
import { tooDeepMessage, yamlTokens } from '../interface/yaml-nesting.ts'
import { notPlain, plainYamlReader } from './plain-yaml.ts'
import { faultsLetPass } from './yaml-leniency.ts'
import { nodeOf, type YamlNode } from './yaml-node.ts'

/** Where an offset in a text stands, both from 1. */
export type Locate = (offset: number) => { readonly line: number; readonly column: number }

/** Takes what is found in a text, in its order. */
interface YamlVisitor {
  /** May read a document by itself, from where it begins to where it ends, and answers whether it did. */
  readonly document?: (from: number, to: number) => boolean
  /** What a document holds that is not empty, and not so broken that the rest of it means nothing. */
  readonly root: (node: YamlNode) => void
  /** A fault of the text itself, whatever it is about. */
  readonly fault: (offset: number, message: string) => void
}

/** Reads a YAML text (1.2, core schema). */
export type ReadYaml = (text: string, visitor: YamlVisitor) => void

/**
 * Reads document by document, so that no more of a text is in memory than what the visitor keeps; the library reads
 * only those that are not plain enough for what reads faster. It finds the same as `readYamlByLibrary` in what has no
 * fault; of what has one it only finds that.
 */
export const readYaml: ReadYaml = (text, visitor) => {
  // With directives, document ends, and other line breaks, documents are no longer what stands between two markers.
  if (text.includes('\r') || text.includes('\ufeff') || beginsLine(text, '%') || beginsLine(text, '...')) {
    readYamlByLibrary(text, visitor)
    return
  }
  const readPlain = plainYamlReader(text)
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = endOfDocument(text, start)
    const first = afterMarker(text, start)
    if (visitor.document?.(first, end) === true) continue
    const root = readPlain(first, end)
    if (root === notPlain) readByLibrary(text.slice(start, end), start, visitor)
    else if (root !== undefined) visitor.root(root)
  }
}

/** Reads the text as a whole, at the library's pace, with every fault in it where it is. */
export const readYamlByLibrary: ReadYaml = (text, visitor) => readByLibrary(text, 0, visitor)

/** Finds offsets in a text. */
export function locator(text: string): Locate {
  // Where the lines begin, as far as somebody asked; mostly each asks for a place behind the one before.
  const starts = [0]
  let isWhole = false
  return (offset) => {
    for (let last = starts.at(-1) ?? 0; last <= offset && !isWhole;) {
      const next = text.indexOf('\n', last) + 1
      if (next === 0) isWhole = true
      else starts.push((last = next))
    }
    const line = linesUpTo(starts, offset)
    return { line, column: offset - (starts[line - 1] ?? 0) + 1 }
  }
}

/** How many of the lines begin there or before. */
function linesUpTo(starts: readonly number[], offset: number): number {
  let [low, high] = [1, starts.length]
  if ((starts[high - 2] ?? 0) <= offset && offset < (starts[high - 1] ?? 0)) return high - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function beginsLine(text: string, what: string): boolean {
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1)) {
    if (at === 0 || text.charAt(at - 1) === '\n') return true
  }
  return false
}

function endOfDocument(text: string, start: number): number {
  for (let before = start; ;) {
    before = text.indexOf('\n---', before)
    if (before < 0) return text.length
    if (/^[ \t\n]?$/.test(text.charAt(before + 4))) return before + 1
    before++
  }
}

/** Where the lines after the one begin that only separates documents. */
function afterMarker(text: string, start: number): number {
  return text.startsWith('---\n', start) ? start + 4 : start
}

function readByLibrary(text: string, shift: number, { root, fault }: YamlVisitor): void {
  // Pretty errors repeat the position, and quote the file.
  const composer = new Composer({ prettyErrors: false, schema: 'core', resolveKnownTags: false })
  const tooDeep = (offset: number): void => fault(offset + shift, tooDeepMessage)
  for (const document of composer.compose(strictly(yamlTokens(text, tooDeep)))) {
    const { contents } = document
    const faults = faultsOf(document)
    for (const { pos, message } of faults) fault(pos[0] + shift, message)
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null)
    if (!isEmpty && faults.every(({ code }) => code === repeatedKey)) root(nodeOf(contents, shift))
  }

  function* strictly(tokens: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of tokens) {
      if (token.type === 'document') {
        for (const { offset, message } of faultsLetPass(token)) fault(offset + shift, message)
      }
      yield token
    }
  }
}

/** The faults of a document; where one breaks it, what the library says after that are consequences of it. */
function faultsOf({ errors, warnings }: Document.Parsed): Document.Parsed['errors'] {
  const faults = [...errors, ...warnings]
  const breaking = faults.find(({ code }) => code !== repeatedKey)
  return breaking === undefined ? faults : [breaking]
}

const repeatedKey = 'DUPLICATE_KEY'
