import { Environment } from '@marcbachmann/cel-js'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { parseTimestamp, validateTimestamp } from '../../lib/time.ts'

/** A function of CEL on times, by which that of cel-js is replaced. */
interface TimeFunction {
  /** The name under which it is called: cel-js lets nobody replace a function. */
  readonly name: string
  readonly overloads: readonly (readonly [signature: string, call: (...args: never[]) => unknown])[]
  /** Returns why a literal is not a valid argument; undefined if it is one. */
  readonly validateArgument: (text: string) => string | undefined
}

/**
 * Fields of a time, by the name of their function. Each takes a date whose UTC fields are the local time; months, days of
 * the month of `getDayOfMonth`, and days of the year count from 0, as CEL has it.
 */
export const timeFields: ReadonlyMap<string, (local: Date) => number> = new Map([
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

const celTimestamp = new Environment().registerVariable('seconds', 'int').parse('timestamp(seconds)')
const celDuration = new Environment().registerVariable('text', 'string').parse('duration(text)')

/**
 * The functions on times, by name. cel-js reads February 30 as March 2, a time without zone in that of the process, `s` as
 * no seconds, durations of any length, and the fields of a time in a zone by way of that of the process.
 */
export const timeFunctions: ReadonlyMap<string, TimeFunction> = new Map([
  [
    'timestamp',
    {
      name: 'strictTimestamp',
      overloads: [
        ['strictTimestamp(string): google.protobuf.Timestamp', readTimestamp],
        ['strictTimestamp(int): google.protobuf.Timestamp', (seconds: bigint) => celTimestamp({ seconds })],
      ],
      validateArgument: validateTimestamp,
    },
  ],
  [
    'duration',
    {
      name: 'strictDuration',
      overloads: [['strictDuration(string): google.protobuf.Duration', readDuration]],
      validateArgument: validateDuration,
    },
  ],
  ...[...timeFields].map(([name, read]): [string, TimeFunction] => {
    const local = `${name}InZone`
    const call = (time: Date, zone = 'UTC'): bigint => BigInt(read(toLocalTime(time, zone)))
    return [
      name,
      {
        name: local,
        overloads: ['', 'string'].map((zone) => [`google.protobuf.Timestamp.${local}(${zone}): int`, call]),
        validateArgument: validateTimeZone,
      },
    ]
  }),
])

/** Errors do not contain the text, which may come from the request. */
function readTimestamp(text: string): Date {
  if (validateTimestamp(text) !== undefined) throw new Error('invalid timestamp')
  return new Date(parseTimestamp(text))
}

function readDuration(text: string): unknown {
  if (validateDuration(text) !== undefined) throw new Error('invalid duration')
  return celDuration({ text })
}

const unitSeconds: Readonly<Record<string, number>> = {
  h: 3600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  µs: 1e-6,
  ns: 1e-9,
}
const part = String.raw`(\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(ns|us|µs|ms|s|m|h)`
const parts = new RegExp(part, 'g')
const durationGrammar = new RegExp(`^[-+]?(?:${part})+$`)
/** 10,000 years, the range of CEL: the sum of a time and a longer duration might have no date. */
const maxSeconds = 315_576_000_000

function validateDuration(text: string): string | undefined {
  if (!durationGrammar.test(text)) {
    const days = /^(\d+)d$/.exec(text)?.[1]
    const example = days === undefined ? '"1h30m" or "90s"' : `"${Number(days) * 24}h"; days have no unit`
    return `expected numbers with the units h, m, s, ms, us or ns, such as ${example}`
  }
  let seconds = 0
  for (const [, count, unit = ''] of text.matchAll(parts))
    seconds += Number(count) * (unitSeconds[unit] ?? Number.NaN)
  return seconds <= maxSeconds ? undefined : 'it is longer than 10,000 years'
}

const dayMs = 86_400_000
const minuteMs = 60_000

/** Returns the name under which a function on times is called; undefined if it is called by its own. */
export function findReplacement(name: string, hasArguments: boolean): string | undefined {
  // cel-js is right about the other fields in UTC, and those of durations.
  const isRight = timeFields.has(name) && name !== 'getDayOfYear' && !hasArguments
  return isRight ? undefined : timeFunctions.get(name)?.name
}

function getDayOfYear(local: Date): number {
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

/** Minutes east of UTC; undefined if the zone is not UTC or an offset. */
function readOffset(zone: string): number | undefined {
  if (zone === 'UTC') return 0
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
