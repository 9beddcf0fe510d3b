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
