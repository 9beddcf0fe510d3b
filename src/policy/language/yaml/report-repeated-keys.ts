import type { YamlNode } from './yaml-node.ts'

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
