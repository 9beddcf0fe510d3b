import { isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from 'yaml'
import { fillText, type FilledText } from './policy-instance.ts'
import type { PolicyInstance } from './policy-document.ts'

type Entry = Pair<ParsedNode, ParsedNode | null>

export type Path = readonly (string | number)[]

export type ReportProblem = (offset: number, message: string) => void

/** In place of an alias, which is not followed. No field has this type. */
export const yamlAlias = Symbol('alias')

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
    if (isScalar(node)) {
      const { value } = node
      return typeof value === 'string' ? fill(value, node.range[0], instance, report) : value
    }
    if (isSeq(node)) return node.items.map((item) => this.convert(item, instance, report))
    if (!isMap(node)) return yamlAlias
    const pairs = new Map<string, Entry>()
    const members: Record<string, unknown> = {}
    for (const pair of node.items) {
      const written = String(isScalar(pair.key) ? pair.key.value : pair.key)
      const isWhole = node === this.root && wholeFields.includes(written)
      const key = isWhole ? written : fill(written, pair.key.range[0], instance, report)
      if (pairs.has(key)) report(pair.key.range[0], `duplicate key ${JSON.stringify(key)}`)
      pairs.set(key, pair)
      const value = pair.value && this.convert(pair.value, isWhole ? undefined : instance, report)
      // The schemas do not see it.
      if (key === '__proto__') report(pair.key.range[0], 'the key "__proto__" is not supported')
      else members[key] = value
    }
    this.pairs.set(node, pairs)
    return members
  }

  /**
   * Returns the offset of a part and how it is written; that of the map that lacks it if there is none, and of the key if it
   * has no value.
   */
  find(path: Path): { readonly node: ParsedNode | null | undefined; readonly offset: number } {
    let node: ParsedNode | null | undefined = this.root
    let [offset] = this.root.range
    for (const key of path) {
      let start: ParsedNode | undefined
      if (isSeq(node)) {
        node = node.items[Number(key)]
        start = node
      } else {
        const pair: Entry | undefined = this.findPair(node, key)
        node = pair && pair.value
        start = node ?? pair?.key
      }
      if (start === undefined) return { node: undefined, offset }
      ;[offset] = start.range
    }
    return { node, offset }
  }

  /** Returns the offset of the last key of the path. */
  findKey(path: Path): number {
    const parent = this.find(path.slice(0, -1))
    return this.findPair(parent.node, path.at(-1) ?? '')?.key.range[0] ?? parent.offset
  }

  /** Returns the keys of a map in their order; of numbers, a plain value has another one. */
  listKeys(path: Path): readonly string[] {
    const { node } = this.find(path)
    return isMap(node) ? [...(this.pairs.get(node)?.keys() ?? [])] : []
  }

  private findPair(node: ParsedNode | null | undefined, key: string | number): Entry | undefined {
    return isMap(node) ? this.pairs.get(node)?.get(String(key)) : undefined
  }

  /**
   * Returns the offset of a character of a text. File and text differ by quotes, escapes, folding, indentation and the value
   * of `forEach`; both are scanned in parallel, skipping characters that are only in the file.
   */
  findCharacter(path: Path, indexInValue: number): number {
    const { file } = this
    const { node } = this.find(path)
    if (!isScalar(node)) return 0
    const [start, end] = node.range
    const text = String(node.value)
    const filled: FilledText | undefined = this.instance && fillText(text, this.instance)
    const index = filled?.indexInTemplate(indexInValue) ?? indexInValue
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

function fill(
  text: string,
  offset: number,
  instance: PolicyInstance | undefined,
  report: ReportProblem,
): string {
  const filled = instance && fillText(text, instance)
  if (filled === undefined) return text
  for (const message of filled.problems) report(offset, message)
  return filled.text
}
