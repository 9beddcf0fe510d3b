import { isMap, isScalar, isSeq, type Node } from 'yaml'

/** What stands in a YAML document, with where it begins in the text. Aliases are not followed. */
export type YamlNode = YamlMap | YamlList | YamlScalar | YamlAlias

export interface YamlMap {
  readonly kind: 'map'
  readonly start: number
  readonly entries: readonly YamlEntry[]
}

export interface YamlEntry {
  /** The key as text. */
  readonly key: string
  /** False where the key is a map, a list or an alias. */
  readonly isScalarKey: boolean
  readonly start: number
  /** Undefined where there is no value at all, as in `{ inherit }`. */
  readonly value: YamlNode | undefined
}

interface YamlList {
  readonly kind: 'list'
  readonly start: number
  readonly items: readonly YamlNode[]
}

export interface YamlScalar {
  readonly kind: 'scalar'
  readonly start: number
  readonly end: number
  readonly value: unknown
  /** How it is written, less quotes and folding. */
  readonly source: string
}

interface YamlAlias {
  readonly kind: 'alias'
  readonly start: number
}

/** A node of the library, which must come from a text; `shift` is added to where it begins. */
export function nodeOf(node: Node, shift: number): YamlNode {
  const [first = 0, last = 0] = node.range ?? []
  const start = first + shift
  if (isScalar(node)) {
    return { kind: 'scalar', start, end: last + shift, value: node.value, source: node.source ?? 'no text' }
  }
  if (isSeq(node))
    return { kind: 'list', start, items: node.items.map((item) => nodeOf(item as Node, shift)) }
  if (!isMap(node)) return { kind: 'alias', start }
  const entries = node.items.map((pair): YamlEntry => {
    const key = pair.key as Node
    const value = pair.value as Node | null
    return {
      key: String(isScalar(key) ? key.value : key),
      isScalarKey: isScalar(key),
      start: (key.range?.[0] ?? 0) + shift,
      value: value === null ? undefined : nodeOf(value, shift),
    }
  })
  return { kind: 'map', start, entries }
}
