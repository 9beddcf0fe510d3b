import { suggestSimilar } from '../../lib/suggest-similar.ts'

/**
 * Functions of CEL on a time in a time zone, by the name that conditions write. They replace those of cel-js, which reads
 * the local time again in the zone of the process. Each takes a date whose UTC fields are the local time; months, days of
 * the month of `getDayOfMonth`, and days of the year count from 0, as CEL has it.
 */
export const zonedFunctions: ReadonlyMap<string, (local: Date) => number> = new Map([
  ['getFullYear', (local) => local.getUTCFullYear()],
  ['getMonth', (local) => local.getUTCMonth()],
  ['getDate', (local) => local.getUTCDate()],
  ['getDayOfMonth', (local) => local.getUTCDate() - 1],
  ['getDayOfWeek', (local) => local.getUTCDay()],
  ['getDayOfYear', getDayOfYear],
  ['getHours', (local) => local.getUTCHours()],
  ['getMinutes', (local) => local.getUTCMinutes()],
  ['getSeconds', (local) => local.getUTCSeconds()],
])

const dayMs = 86_400_000
const minuteMs = 60_000

/** Counts from 0. */
export function getDayOfYear(local: Date): number {
  const newYear = new Date(0).setUTCFullYear(local.getUTCFullYear(), 0, 1)
  return Math.floor((local.getTime() - newYear) / dayMs)
}

/** Returns a date whose UTC fields are the local time in the zone. The zone is valid. */
export function toLocalTime(time: Date, zone: string): Date {
  const offset = readOffset(zone)
  if (offset !== undefined) return new Date(time.getTime() + offset * minuteMs)
  const fields = Object.fromEntries(
    getFormat(zone)
      .formatToParts(time)
      .map(({ type, value }) => [type, value]),
  )
  const { era, year, month, day, hour, minute, second } = fields
  const local = new Date(0)
  // Years before 1 AD: 1 BC is the year 0.
  local.setUTCFullYear(era === 'AD' ? Number(year) : 1 - Number(year), Number(month) - 1, Number(day))
  local.setUTCHours(Number(hour), Number(minute), Number(second), time.getUTCMilliseconds())
  return local
}

/** Returns why a text is no time zone: a name of the IANA database, `UTC`, or an offset such as `+02:00`. */
export function validateTimeZone(zone: string): string | undefined {
  if (readOffset(zone) !== undefined) return undefined
  try {
    // Names such as `+0200` are offsets for some versions of Node.js only.
    if (/^[A-Za-z]/.test(zone) && getFormat(zone) !== undefined) return undefined
  } catch {
    // Not a zone that Node.js knows.
  }
  const suggestion = suggestSimilar(zone, ['UTC', ...Intl.supportedValuesOf('timeZone')])
  return `expected a time zone such as "Europe/Berlin", "UTC" or "+02:00"${suggestion}`
}

/** Minutes east of UTC; undefined if the zone is not an offset. */
function readOffset(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([-+]?)([01]\d|2[0-3]):([0-5]\d)$/.exec(zone) ?? []
  if (hours === undefined) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

/** Of the zones that policies name. */
const formats = new Map<string, Intl.DateTimeFormat>()

function getFormat(zone: string): Intl.DateTimeFormat {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  formats.set(zone, format)
  return format
}
