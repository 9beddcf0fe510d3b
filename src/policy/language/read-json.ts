import type { Field, ReportProblem } from './field.ts'

/** Reads a map as a JSON object. Reports aliases in it. Returns undefined for any other value. */
export function readJsonObject(
  field: Field,
  report: ReportProblem,
): Readonly<Record<string, unknown>> | undefined {
  const { node, offset } = field
  if (node?.kind !== 'map') return undefined
  return Object.fromEntries(
    node.entries.map(({ key, value }) => [key, readJson(field.child(key, value, offset), report)] as const),
  )
}

function readJson(field: Field, report: ReportProblem): unknown {
  const { node, offset } = field
  if (node?.kind === 'scalar') return node.value
  if (node?.kind === 'list')
    return node.items.map((item, index) => readJson(field.child(String(index), item, offset), report))
  if (node?.kind === 'map') return readJsonObject(field, report)
  if (node !== undefined) report(offset, `${field.name} is an alias, which is not followed`)
  return null
}

/** Reads a map of strings. Reports an error and returns undefined for any other value. */
export function readTextMap(field: Field, report: ReportProblem): ReadonlyMap<string, string> | undefined {
  const members = readJsonObject(field, report)
  const entries = members && Object.entries(members)
  if (entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
    return new Map(entries)
  report(field.offset, `${field.name} is not a map of strings; expected for example { ticket: "T-1" }`)
  return undefined
}
