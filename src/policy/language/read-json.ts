import type { Field, ReportProblem } from './field.ts'
import type { YamlNode } from './yaml/yaml-node.ts'

/** Reads any value as JSON. Reports aliases. */
export function readJson(field: Field, report: ReportProblem): unknown {
  const { node } = field
  const inner = (value: YamlNode | undefined, name: string): unknown =>
    readJson(field.child(name, value, field.offset), report)
  if (node?.kind === 'scalar') return node.value
  if (node?.kind === 'list') return node.items.map((item, index) => inner(item, String(index)))
  if (node?.kind === 'map')
    return Object.fromEntries(node.entries.map(({ key, value }) => [key, inner(value, key)]))
  if (node !== undefined) report(field.offset, `${field.name} is an alias, which is not followed`)
  return null
}

/** Reads a map of strings. Reports an error and returns undefined for any other value. */
export function readTextMap(field: Field, report: ReportProblem): ReadonlyMap<string, string> | undefined {
  const value = field.node?.kind === 'map' ? Object.entries(readJson(field, report) as object) : undefined
  if (value?.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return new Map(value)
  report(field.offset, `${field.name} is not a map of strings; expected for example { ticket: "T-1" }`)
  return undefined
}
