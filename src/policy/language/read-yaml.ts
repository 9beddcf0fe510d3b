import {
  Composer,
  CST,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { parseYamlTokens } from '../../lib/yaml/yaml-tokens.ts'
import { describeOtherVariables, fillText, findInTemplate, type PolicyInstance } from './for-each.ts'

export type Path = readonly (string | number)[]

/** Where in a value a problem is, if not at its beginning: at a key of the map, or at a character of the text. */
export interface ProblemPlace {
  readonly key?: string
  readonly index?: number
}

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
    if (first !== undefined)
      error(first.pos[0], first.message + suggestQuotes(first.message, text[first.pos[0] - 1]))
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null)
    if (!isEmpty && first === undefined) yield contents
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

/** A condition often begins with a quote, as in `when: "reason" in context`, or with `!`; a text, with a variable. */
function suggestQuotes(message: string, before: string | undefined): string {
  if (/^Tags and anchors must be separated|^Unresolved tag: !/.test(message)) return quotedNegationHint
  if (message !== 'Unexpected scalar at node end') return ''
  return before === '}'
    ? `; put the whole text in quotes, such as '{team}-writers'`
    : `; put the whole value in quotes of the other kind, such as '"reason" in context'`
}

/** The end of an error message: a text that is negated becomes a YAML tag. */
const quotedNegationHint = `; put a condition that begins with "!" in quotes, such as '!branch.like("ci/*")'`

interface YamlError {
  readonly offset: number
  readonly message: string
}

/**
 * Returns errors that the library ignores: content that it drops, such as `b` in `? "a" b` and the negation in `! a`, a
 * YAML tag, and unterminated quotes that end with an escaped quote, such as `'a''`, which would turn all text up to there
 * into one value.
 */
function findIgnoredErrors(document: CST.Document): readonly YamlError[] {
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

type Entry = Pair<ParsedNode, ParsedNode | null>

/** In place of an alias, which is not followed. No field has this type. */
export const yamlAlias = Symbol('alias')

/** In place of a text about which an error has been reported. No field has this type, either. */
export const unreadable = Symbol('unreadable')

/** Fields of a document whose texts are those of the whole policy, not of one value of `forEach`. */
const wholeFields: readonly string[] = ['metadata', 'forEach']

/**
 * The content of a YAML document as a plain value, in which each text is filled with the value of `forEach`, and the offset
 * of each part of it in the file. Reports keys that are equal as text, such as `1` and `"1"`: one of their values would have
 * no effect.
 */
export class LocatedYaml {
  readonly value: unknown
  private readonly pairs = new Map<YAMLMap.Parsed, ReadonlyMap<string, Entry>>()
  private readonly root: ParsedNode
  private readonly file: string
  private readonly instance: PolicyInstance | undefined

  constructor(root: ParsedNode, file: string, instance: PolicyInstance | undefined, report: ReportProblem) {
    this.root = root
    this.file = file
    this.instance = instance
    this.value = this.convert(root, instance, report)
  }

  private convert(node: ParsedNode, instance: PolicyInstance | undefined, report: ReportProblem): unknown {
    const fill = (text: string, offset: number): string | typeof unreadable => {
      if (instance === undefined || !text.includes('{')) return text
      const problems = describeOtherVariables(text, instance.variable)
      for (const problem of problems) report(offset, problem)
      return problems.length > 0 ? unreadable : fillText(text, instance)
    }
    if (isScalar(node)) {
      const { value } = node
      return typeof value === 'string' ? fill(value, node.range[0]) : value
    }
    if (isSeq(node)) return node.items.map((item) => this.convert(item, instance, report))
    if (!isMap(node)) return yamlAlias
    const pairs = new Map<string, Entry>()
    const members: Record<string, unknown> = {}
    for (const pair of node.items) {
      const [offset] = pair.key.range
      const written = String(isScalar(pair.key) ? pair.key.value : pair.key)
      const isWhole = node === this.root && wholeFields.includes(written)
      const filled = isWhole ? written : fill(written, offset)
      const key = filled === unreadable ? written : filled
      if (pairs.has(key)) report(offset, `duplicate key ${JSON.stringify(key)}`)
      pairs.set(key, pair)
      const value = pair.value && this.convert(pair.value, isWhole ? undefined : instance, report)
      // The schemas do not see it.
      if (key === '__proto__') report(offset, 'the key "__proto__" is not supported')
      else members[key] = value
    }
    this.pairs.set(node, pairs)
    return members
  }

  /**
   * Returns how a part is written, and its offset: that of the map that lacks it if there is none, and of the key if it has no
   * value.
   */
  find(path: Path): { readonly node: ParsedNode | null | undefined; readonly offset: number } {
    let node: ParsedNode | null | undefined = this.root
    let [offset] = this.root.range
    for (const key of path) {
      const pair: Entry | undefined = this.findPair(node, key)
      const value: ParsedNode | null | undefined = isSeq(node) ? node.items[Number(key)] : pair?.value
      const start = value ?? pair?.key
      if (start === undefined) return { node: undefined, offset }
      node = value
      ;[offset] = start.range
    }
    return { node, offset }
  }

  /** Returns the offset of a part as `find` does, or that of a key or a character of it. */
  findOffset(path: Path, { key, index }: ProblemPlace = {}): number {
    const { node, offset } = this.find(path)
    if (key !== undefined) return this.findPair(node, key)?.key.range[0] ?? offset
    return index === undefined || !isScalar(node) ? offset : this.findCharacter(node, index)
  }

  private findPair(node: ParsedNode | null | undefined, key: string | number): Entry | undefined {
    return isMap(node) ? this.pairs.get(node)?.get(String(key)) : undefined
  }

  /**
   * Returns the offset of a character of a text. File and text differ by quotes, escapes, folding, indentation and the value
   * of `forEach`; both are scanned in parallel, skipping characters that are only in the file.
   */
  private findCharacter({ value, range }: Scalar.Parsed, indexInValue: number): number {
    const { file } = this
    const [start, end] = range
    const text = String(value)
    const index =
      this.instance === undefined ? indexInValue : findInTemplate(text, this.instance, indexInValue)
    // Plain scalars cannot start with these characters.
    let offset = start + (/^["']/.test(file[start] ?? '') ? 1 : 0)
    if (/^[|>]/.test(file[start] ?? '')) offset = file.indexOf('\n', offset) + 1 || offset
    for (let position = 0; position < index; position++) offset = skipTo(text[position] ?? '', offset) + 1
    return Math.min(
      index < text.length ? skipTo(text[index] ?? '', offset) : offset,
      Math.max(start, end - 1),
    )

    function skipTo(character: string, from: number): number {
      // A single line break in the file is folded to a space in the text.
      const isFound = (found: string | undefined): boolean =>
        found === character || (character === ' ' && found === '\n')
      let offset = from
      while (offset < end && !isFound(file[offset])) offset++
      return offset
    }
  }
}
