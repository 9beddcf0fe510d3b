let cachedMs = Number.NaN
let cachedText = ''

/**
 * Current time in ISO 8601 with milliseconds, UTC. Cached within a millisecond, since formatting is slow and records
 * are frequent.
 */
export function currentTimestamp(): string {
  const now = Date.now()
  if (now !== cachedMs) {
    cachedMs = now
    cachedText = new Date(now).toISOString()
  }
  return cachedText
}

const example = '2027-01-31T10:00:00Z'
const grammar = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const date = /^\d{4}-\d\d-\d\d$/
const withoutZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?$/

/** 0001-01-01T00:00:00Z and the last millisecond of 9999: the range of CEL, in milliseconds since 1970. */
const [first, last] = [-62_135_596_800_000, 253_402_300_799_999]

/**
 * Parses a time with zone (RFC 3339), such as `2027-01-31T10:00:00Z`, to milliseconds since 1970. Throws an Error with
 * the reason if it is invalid: a date without time, a time without zone or seconds, a day or time that does not exist.
 */
export function parseTimestamp(text: string): number {
  const error = validateTimestamp(text)
  if (error !== undefined) throw new Error(error)
  return Date.parse(text)
}

/** Returns why a text is not a time with zone (RFC 3339); undefined if it is one. */
export function validateTimestamp(text: string): string | undefined {
  const written = grammar.exec(text)?.[1]
  if (written === undefined) return describeForm(text)
  // Days that a month does not have would count as those of the next one.
  const read = Date.parse(`${written}Z`)
  if (Number.isNaN(read) || !new Date(read).toISOString().startsWith(written))
    return `there is no time ${written}`
  const time = Date.parse(text)
  return time >= first && time <= last ? undefined : 'it is not within the years 0001 to 9999 in UTC'
}

function describeForm(text: string): string {
  if (date.test(text)) return `it has no time and no zone; expected for example ${text}T00:00:00Z`
  if (withoutZone.test(text)) return `it has no zone; expected for example ${text}Z or ${text}+01:00`
  return `expected a time with zone (RFC 3339) such as ${example}`
}

const milliseconds = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

const part = String.raw`(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|m|h|d)`
const parts = new RegExp(part, 'g')
const duration = new RegExp(`^${part}(?: ?${part})*$`)

/** Parses a duration such as `500ms`, `30s`, `1.5m` or `1m 30s` to whole milliseconds; NaN if the text is none. */
export function parseDuration(text: string): number {
  if (!duration.test(text)) return Number.NaN
  let sum = 0
  for (const [, number, unit = ''] of text.matchAll(parts))
    sum += Number(number) * (milliseconds.get(unit) ?? Number.NaN)
  return Math.round(sum)
}
