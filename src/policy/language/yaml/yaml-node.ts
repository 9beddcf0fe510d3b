import { isMap, isScalar, isSeq, type ParsedNode } from 'yaml'

/** A value in a YAML document with its offset. Aliases are not followed. */
export type YamlNode = YamlMap | YamlList | YamlScalar | YamlAlias

interface YamlMap {
  readonly kind: 'map'
  readonly start: number
  readonly entries: readonly YamlEntry[]
}

export interface YamlEntry {
  readonly key: string
  /** False if the key is a map, a list or an alias. */
  readonly isScalarKey: boolean
  readonly start: number
  /** Undefined if there is no value, as in `{ inherit }`. */
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
  /** As written, without quotes and folding. */
  readonly source: string
  /** The text of the file if a variable in it was replaced; `indexOf` returns the index in it of a character of `value`. */
  readonly template?: { readonly text: string; readonly indexOf: (index: number) => number }
}

interface YamlAlias {
  readonly kind: 'alias'
  readonly start: number
}

export function createYamlNode(node: ParsedNode): YamlNode {
  const [start, end] = node.range
  if (isScalar(node)) {
    return { kind: 'scalar', start, end, value: node.value, source: node.source ?? 'no text' }
  }
  if (isSeq(node)) return { kind: 'list', start, items: node.items.map((item) => createYamlNode(item)) }
  if (!isMap(node)) return { kind: 'alias', start }
  const entries = node.items.map((pair): YamlEntry => {
    const { key, value } = pair
    return {
      key: String(isScalar(key) ? key.value : key),
      isScalarKey: isScalar(key),
      start: key.range[0],
      value: value === null ? undefined : createYamlNode(value),
    }
  })
  return { kind: 'map', start, entries }
}

/**
 * Reports every key of a map, at any depth, that an earlier one equals as text, such as `1` and `"1"`: one of the values
 * would have no effect.
 */
export function reportRepeatedKeys(
  node: YamlNode | undefined,
  report: (offset: number, message: string) => void,
): void {
  if (node?.kind === 'list') for (const item of node.items) reportRepeatedKeys(item, report)
  if (node?.kind !== 'map') return
  const found = new Set<string>()
  for (const { key, start, value } of node.entries) {
    if (found.has(key)) report(start, `duplicate key ${JSON.stringify(key)}`)
    found.add(key)
    reportRepeatedKeys(value, report)
  }
}
