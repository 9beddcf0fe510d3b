import { parseTimestamp, validateTimestamp } from '../../lib/time/parse-timestamp.ts'
import { readText, type Field, type ReportProblem } from './field.ts'

/** Reads a time with zone (RFC 3339), in milliseconds since 1970. */
export function readTime(field: Field, report: ReportProblem): number | undefined {
  const text = readText(field, report)
  if (text === undefined) return undefined
  const error = validateTimestamp(text)
  if (error === undefined) return parseTimestamp(text)
  report(field.offset, `${field.name} is ${JSON.stringify(text)}: ${error}`)
  return undefined
}

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
