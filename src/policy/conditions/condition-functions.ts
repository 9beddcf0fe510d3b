import { Environment } from '@marcbachmann/cel-js'
import {
  isInAddressRange,
  parseTimestamp,
  suggestSimilar,
  validateAddressRange,
  validateTimestamp,
} from '../../lib/index.ts'
import { createNameMatcher } from './name-pattern.ts'

interface ConditionFunction {
  /** Implementations to register, by signature. */
  readonly overloads?: Readonly<Record<string, (...args: never[]) => unknown>>
  /** Describes its argument, if that must be a literal: one of the request could make an evaluation fail, or cost much. */
  readonly takes?: string
  /** Returns why a literal is invalid as its argument; undefined if it is valid. */
  readonly validateArgument?: (text: string) => string | undefined
}

/** Functions of our own, by name: they replace regular expressions, whose cost a caller could make very high. */
export const addedFunctions: Readonly<Record<string, ConditionFunction>> = {
  inCidr: {
    overloads: { 'string.inCidr(string): bool': isInAddressRange },
    takes: 'one string literal',
    validateArgument: validateAddressRange,
  },
  isUnder: {
    overloads: { 'string.isUnder(string): bool': isUnderFolder },
    takes: 'one string literal',
    validateArgument: validateFolder,
  },
  like: {
    overloads: {
      'string.like(string): bool': (text: string, pattern: string) => createNameMatcher(pattern)(text),
    },
    takes: 'one string literal',
  },
}

const time = 'google.protobuf.Timestamp'

const cel = new Environment().registerVariable('at', time).registerVariable('seconds', 'int')
const celTimestamp = cel.parse('timestamp(seconds)')

/** Months and days of `getDayOfMonth` count from 0, as CEL has it. */
export const timeFields: readonly string[] =
  'getFullYear getMonth getDate getDayOfMonth getDayOfWeek getHours getMinutes getSeconds'.split(' ')

/**
 * Functions of times that are not those of cel-js. It reads February 30 as March 2, a time without zone in that of the
 * process, and the fields of a time in a zone by way of that of the process. Errors do not contain the argument: it may
 * come from the request.
 */
const timeFunctions: Readonly<Record<string, ConditionFunction>> = {
  timestamp: {
    overloads: {
      [`timestamp(string): ${time}`]: (text: string) => {
        if (validateTimestamp(text) !== undefined) throw new Error('invalid timestamp')
        return new Date(parseTimestamp(text))
      },
      // It throws for a time out of the range of CEL.
      [`timestamp(int): ${time}`]: (seconds: bigint): unknown => celTimestamp({ seconds }),
    },
    validateArgument(text) {
      const problem = validateTimestamp(text)
      return problem && `${JSON.stringify(text)} is not a timestamp: ${problem}`
    },
  },
  duration: { takes: 'one string literal', validateArgument: validateDuration },
  ...Object.fromEntries(timeFields.map((name) => [name, createFieldFunction(name)])),
}

function createFieldFunction(name: string): ConditionFunction {
  const read = cel.parse(`at.${name}()`)
  return {
    overloads: {
      [`${time}.${name}(string): int`]: (at: Date, zone: string): unknown =>
        read({ at: toLocalTime(at, zone) }),
    },
    takes: 'a time zone as one string literal, or nothing for UTC',
    validateArgument: validateTimeZone,
  }
}

/** Functions that cel-js lacks, or whose calls are replaced or checked. */
export const conditionFunctions: ReadonlyMap<string, ConditionFunction> = new Map(
  Object.entries({ ...addedFunctions, ...timeFunctions }),
)

/** Whether a call is one that cel-js has, too, and would do in another way. */
export function replacesCall(name: string, { length }: readonly unknown[]): boolean {
  return name === 'timestamp' || (timeFields.includes(name) && length > 0)
}

/** Functions that iterate over a list. They must not be nested. */
export const loopFunctions: readonly string[] = ['exists', 'exists_one', 'all']

/** Each takes time linear in its arguments. Without `matches`, `map` and `filter`, whose cost a caller could choose. */
export const allowedFunctions: readonly string[] = [
  ...'has size startsWith endsWith contains lowerAscii upperAscii trim string int double bool'.split(' '),
  ...loopFunctions,
  ...conditionFunctions.keys(),
]

/** At most 114 years, so that the sum of a time and a duration has a date. */
function validateDuration(text: string): string | undefined {
  if (/^-?(?:\d{1,6}h)?(?:\d{1,6}m)?(?:\d{1,6}s)?$/.test(text) && text.length > 1) return undefined
  const days = /^(\d+)d$/.exec(text)?.[1]
  const example = days === undefined ? '"1h30m" or "90s"' : `"${Number(days) * 24}h"; days have no unit`
  return `${JSON.stringify(text)} is not a duration: expected whole numbers of h, m and s, such as ${example}`
}

const offsetGrammar = /^(?:UTC|[-+]?(?:[01]\d|2[0-3]):[0-5]\d)$/

/** Returns a date whose UTC fields are the local time in the zone. The zone is valid. */
export function toLocalTime(at: Date, zone: string): Date {
  const shown = offsetGrammar.test(zone) ? zone : getFormat(zone).format(at)
  // Of UTC, nothing is behind `GMT`. Offsets of old times have seconds.
  const match = /(?:UTC|GMT|([-+]?)(\d\d):(\d\d)(?::(\d\d))?)$/.exec(shown)
  if (match === null) throw new Error('a time zone without an offset')
  const [, sign, hours = 0, minutes = 0, seconds = 0] = match
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return new Date(at.getTime() + (sign === '-' ? -1 : 1) * offset * 1000)
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

/**
 * Whether a storage path is under a folder, compared by segment; a folder is not under itself. Ambiguous paths (an
 * empty segment, `.` or `..`, `\`, `%`, `?`, `#`, a control character) are under no folder, because two readers could
 * resolve them differently.
 */
export function isUnderFolder(path: string, folder: string): boolean {
  const parts = parseStoragePath(path)
  const top = parseStoragePath(folder)
  if (parts === undefined || top === undefined || parts.length <= top.length) return false
  return top.every((part, index) => part === parts[index])
}

/** Returns why the text is not a folder; undefined if it is one. */
export function validateFolder(folder: string): string | undefined {
  if (folder.includes('*'))
    return `${JSON.stringify(folder)} has a "*"; a folder includes everything beneath it, and is no pattern`
  return parseStoragePath(folder) === undefined
    ? `${JSON.stringify(folder)} is not a folder; expected for example "s3://bucket/team" or "warehouse/team"`
    : undefined
}

// oxlint-disable-next-line no-control-regex
const ambiguous = /[\\%?#\u0000-\u001f\u007f]/

/** Returns the scheme, possibly empty, and the path segments; undefined if the path is ambiguous. */
function parseStoragePath(path: string): readonly string[] | undefined {
  if (ambiguous.test(path)) return undefined
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?\/?(.*)$/.exec(path) ?? []
  const parts = rest.replace(/\/$/, '').split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  return [scheme.toLowerCase(), ...parts]
}
