import { isMap, isScalar, isSeq, type Node } from 'yaml'
import type { Field, Report } from './yaml-fields.ts'

/** What a field holds, whatever it is; aliases are reported. */
export function jsonOf(field: Field, report: Report): unknown {
  const { node } = field
  if (isScalar(node)) return node.value
  const inner = (value: unknown, name: string): unknown =>
    jsonOf({ ...field, name: `${field.name}.${name}`, node: (value as Node | null) ?? undefined }, report)
  if (isSeq(node)) return node.items.map((item, index) => inner(item, String(index)))
  if (isMap(node)) {
    return Object.fromEntries(node.items.map(({ key, value }) => [String(key), inner(value, String(key))]))
  }
  if (node !== undefined) report(field.offset, `${field.name} is an alias, which is not followed`)
  return null
}

/** A map of texts to texts. Reports and answers undefined for anything else. */
export function textMapOf(field: Field, report: Report): ReadonlyMap<string, string> | undefined {
  const value = isMap(field.node) ? Object.entries(jsonOf(field, report) as object) : undefined
  if (value?.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return new Map(value)
  report(field.offset, `${field.name} is no map of texts; expected one such as { ticket: "T-1" }`)
  return undefined
}
