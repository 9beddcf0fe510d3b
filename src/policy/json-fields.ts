import type { Field, Report } from './yaml-fields.ts'
import type { YamlNode } from './yaml-node.ts'

/** What a field holds, whatever it is; aliases are reported. */
export function jsonOf(field: Field, report: Report): unknown {
  const { node } = field
  const inner = (value: YamlNode | undefined, name: string): unknown =>
    jsonOf(field.within(name, value, field.offset), report)
  if (node?.kind === 'scalar') return node.value
  if (node?.kind === 'list') return node.items.map((item, index) => inner(item, String(index)))
  if (node?.kind === 'map')
    return Object.fromEntries(node.entries.map(({ key, value }) => [key, inner(value, key)]))
  if (node !== undefined) report(field.offset, `${field.name} is an alias, which is not followed`)
  return null
}

/** A map of texts to texts. Reports and answers undefined for anything else. */
export function textMapOf(field: Field, report: Report): ReadonlyMap<string, string> | undefined {
  const value = field.node?.kind === 'map' ? Object.entries(jsonOf(field, report) as object) : undefined
  if (value?.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return new Map(value)
  report(field.offset, `${field.name} is not a map of strings; expected for example { ticket: "T-1" }`)
  return undefined
}
