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
const grammar = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/
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
  const fields = grammar.exec(text)
  if (fields === null) return describeForm(text)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ...offset] = fields
    .slice(1)
    .map(Number)
  if (month < 1 || month > 12) return `there is no month ${fields[2]}`
  // Day 0 of the next month. Leap years recur every 400 years; Date.UTC takes years below 100 for those after 1900.
  if (day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()) {
    return `there is no day ${fields[3]} in the month ${fields[1]}-${fields[2]}`
  }
  if (second === 60) return 'leap seconds are not supported; expected seconds from 00 to 59'
  if (hour > 23 || minute > 59 || second > 59)
    return `there is no time ${fields[4]}:${fields[5]}:${fields[6]}`
  if ((offset[0] ?? 0) > 23 || (offset[1] ?? 0) > 59) return `there is no zone ${text.slice(-6)}`
  const time = Date.parse(text)
  return time >= first && time <= last ? undefined : 'it is not within the years 0001 to 9999 in UTC'
}

function describeForm(text: string): string {
  if (date.test(text)) return `it has no time and no zone; expected for example ${text}T00:00:00Z`
  if (withoutZone.test(text)) return `it has no zone; expected for example ${text}Z or ${text}+01:00`
  return `expected a time with zone (RFC 3339) such as ${example}`
}
