import { isMap, isScalar, isSeq, type Node } from 'yaml'

/** What stands in a YAML document, with where it begins in the text. Aliases are not followed. */
export type YamlNode = YamlMap | YamlList | YamlScalar | YamlAlias

interface YamlMap {
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

/** A node of the library, which must come from a text. */
export function createYamlNode(node: Node): YamlNode {
  const [start = 0, end = 0] = node.range ?? []
  if (isScalar(node)) {
    return { kind: 'scalar', start, end, value: node.value, source: node.source ?? 'no text' }
  }
  if (isSeq(node))
    return { kind: 'list', start, items: node.items.map((item) => createYamlNode(item as Node)) }
  if (!isMap(node)) return { kind: 'alias', start }
  const entries = node.items.map((pair): YamlEntry => {
    const key = pair.key as Node
    const value = pair.value as Node | null
    return {
      key: String(isScalar(key) ? key.value : key),
      isScalarKey: isScalar(key),
      start: key.range?.[0] ?? 0,
      value: value === null ? undefined : createYamlNode(value),
    }
  })
  return { kind: 'map', start, entries }
}
