import { Environment } from '@marcbachmann/cel-js'
import { parseTimestamp, suggestSimilar, validateTimestamp } from '../../lib/index.ts'

/** A function that is added to CEL, or that replaces one of cel-js. */
export interface ConditionFunction {
  /** What is called, by signature. */
  readonly overloads: Readonly<Record<string, (...args: never[]) => unknown>>
  /** Of a function of cel-js: the calls that it replaces. */
  readonly replaces?: 'all' | 'with an argument'
  /** What its argument is, if that must be a literal: one of the request could make an evaluation fail, or cost much. */
  readonly takes?: string
  /** Returns why a literal is invalid as its argument; undefined if it is valid. */
  readonly validateArgument?: (text: string) => string | undefined
}

/**
 * Fields of a time, by the name of their function. Each takes a date whose UTC fields are the local time; months, days of
 * the month of `getDayOfMonth`, and days of the year count from 0, as CEL has it.
 */
export const timeFields: Readonly<Record<string, (local: Date) => number>> = {
  getFullYear: (local) => local.getUTCFullYear(),
  getMonth: (local) => local.getUTCMonth(),
  getDate: (local) => local.getUTCDate(),
  getDayOfMonth: (local) => local.getUTCDate() - 1,
  getDayOfWeek: (local) => local.getUTCDay(),
  getDayOfYear: (local) => {
    const newYear = new Date(0).setUTCFullYear(local.getUTCFullYear(), 0, 1)
    return Math.floor((local.getTime() - newYear) / dayMs)
  },
  getHours: (local) => local.getUTCHours(),
  getMinutes: (local) => local.getUTCMinutes(),
  getSeconds: (local) => local.getUTCSeconds(),
}

const dayMs = 86_400_000

const cel = new Environment().registerVariable('seconds', 'int').registerVariable('text', 'string')
const celTimestamp = cel.parse('timestamp(seconds)')
const celDuration = cel.parse('duration(text)')

const time = 'google.protobuf.Timestamp'

/**
 * Functions on times. cel-js reads February 30 as March 2, a time without zone in that of the process, `s` as no seconds,
 * durations of any length, and the fields of a time in a zone by way of that of the process. Errors do not contain the
 * argument: it may come from the request.
 */
export const timeFunctions: Readonly<Record<string, ConditionFunction>> = {
  timestamp: {
    overloads: {
      [`timestamp(string): ${time}`]: (text: string) => {
        if (validateTimestamp(text) !== undefined) throw new Error('invalid timestamp')
        return new Date(parseTimestamp(text))
      },
      // It throws for a time out of the range of CEL.
      [`timestamp(int): ${time}`]: (seconds: bigint): unknown => celTimestamp({ seconds }),
    },
    replaces: 'all',
    validateArgument: (text) => describeInvalid('timestamp', text, validateTimestamp(text)),
  },
  duration: {
    overloads: {
      'duration(string): google.protobuf.Duration': (text: string): unknown => {
        if (validateDuration(text) !== undefined) throw new Error('invalid duration')
        return celDuration({ text })
      },
    },
    replaces: 'all',
    validateArgument: (text) => describeInvalid('duration', text, validateDuration(text)),
  },
  ...Object.fromEntries(
    Object.entries(timeFields).map(([name, read]) => [name, createFieldFunction(name, read)]),
  ),
}

function createFieldFunction(name: string, read: (local: Date) => number): ConditionFunction {
  const call = (at: Date, zone = 'UTC'): bigint => BigInt(read(toLocalTime(at, zone)))
  return {
    overloads: { [`${time}.${name}(): int`]: call, [`${time}.${name}(string): int`]: call },
    // cel-js is right about the other fields in UTC, and those of durations.
    replaces: name === 'getDayOfYear' ? 'all' : 'with an argument',
    takes: 'a time zone as one string literal, or nothing for UTC',
    validateArgument: validateTimeZone,
  }
}

function describeInvalid(name: string, text: string, problem: string | undefined): string | undefined {
  return problem && `${JSON.stringify(text)} is not a ${name}: ${problem}`
}

const durationGrammar = /^[-+]?(?:(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(?:ns|us|µs|ms|s|m|h))+$/
/** 10,000 years, the range of CEL: the sum of a time and a longer duration might have no date. */
const maxDurationMs = 315_576_000_000_000

/** Returns why a text is no duration; undefined if it is one. */
function validateDuration(text: string): string | undefined {
  if (!durationGrammar.test(text)) {
    const days = /^(\d+)d$/.exec(text)?.[1]
    const example = days === undefined ? '"1h30m" or "90s"' : `"${Number(days) * 24}h"; days have no unit`
    return `expected numbers with the units h, m, s, ms, us or ns, such as ${example}`
  }
  return Math.abs(Number(celDuration({ text }))) <= maxDurationMs
    ? undefined
    : 'it is longer than 10,000 years'
}

const offsetGrammar = /^(?:UTC|[-+]?(?:[01]\d|2[0-3]):[0-5]\d)$/

/** Returns a date whose UTC fields are the local time in the zone. The zone is valid. */
export function toLocalTime(time: Date, zone: string): Date {
  const shown = offsetGrammar.test(zone) ? zone : getFormat(zone).format(time)
  // Of UTC, nothing is behind `GMT`. Offsets of old times have seconds.
  const match = /(?:UTC|GMT|([-+]?)(\d\d):(\d\d)(?::(\d\d))?)$/.exec(shown)
  if (match === null) throw new Error('a time zone without an offset')
  const [, sign, hours = 0, minutes = 0, seconds = 0] = match
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return new Date(time.getTime() + (sign === '-' ? -1 : 1) * offset * 1000)
}

/** Returns why a text is no time zone: a name of the IANA database, `UTC`, or an offset such as `+02:00`. */
export function validateTimeZone(zone: string): string | undefined {
  if (offsetGrammar.test(zone)) return undefined
  try {
    // Names such as `+0200` are offsets for some versions of Node.js only.
    if (/^[A-Za-z]/.test(zone) && getFormat(zone) !== undefined) return undefined
  } catch {
    // Not a zone that Node.js knows.
  }
  const suggestion = suggestSimilar(zone, ['UTC', ...Intl.supportedValuesOf('timeZone')])
  return `expected a time zone such as "Europe/Berlin", "UTC" or "+02:00"${suggestion}`
}

/** Of the zones that policies name. They end with the offset, such as `GMT+02:00`. */
const formats = new Map<string, Intl.DateTimeFormat>()

function getFormat(zone: string): Intl.DateTimeFormat {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  formats.set(zone, format)
  return format
}
