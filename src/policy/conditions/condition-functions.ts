import { isInAddressRange, validateAddressRange, validateTimestamp } from '../../lib/index.ts'
import { createNameMatcher } from './name-pattern.ts'
import { isUnderFolder, validateFolder } from './storage-path.ts'
import {
  readDuration,
  readSeconds,
  readTimestamp,
  timeFields,
  toLocalTime,
  validateDuration,
  validateTimeZone,
} from './times.ts'

/** A function that is added to CEL, or that replaces one of cel-js. */
export interface ConditionFunction {
  /**
   * What is registered, by signature. cel-js lets nobody replace a function, so that one which does has another name, by
   * `getReplacement`.
   */
  readonly overloads: Readonly<Record<string, (...args: never[]) => unknown>>
  /** Of a function of cel-js: the calls that it replaces. */
  readonly replaces?: 'all' | 'with an argument'
  /** What its argument is, if that must be a literal: one of the request could make an evaluation fail, or cost much. */
  readonly takes?: string
  /** Returns why a literal is invalid as its argument; undefined if it is valid. */
  readonly validateArgument: (text: string) => string | undefined
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
    validateArgument: () => undefined,
  },
}

const time = 'google.protobuf.Timestamp'

/**
 * Functions on times. cel-js reads February 30 as March 2, a time without zone in that of the process, `s` as no seconds,
 * durations of any length, and the fields of a time in a zone by way of that of the process.
 */
const timeFunctions: Record<string, ConditionFunction> = {
  timestamp: {
    overloads: {
      [`${getReplacement('timestamp')}(string): ${time}`]: readTimestamp,
      [`${getReplacement('timestamp')}(int): ${time}`]: readSeconds,
    },
    replaces: 'all',
    validateArgument: (text) => describeInvalid('timestamp', text, validateTimestamp(text)),
  },
  duration: {
    overloads: { [`${getReplacement('duration')}(string): google.protobuf.Duration`]: readDuration },
    replaces: 'all',
    validateArgument: (text) => describeInvalid('duration', text, validateDuration(text)),
  },
}
for (const [name, read] of Object.entries(timeFields)) {
  const call = (at: Date, zone = 'UTC'): bigint => BigInt(read(toLocalTime(at, zone)))
  const method = `${time}.${getReplacement(name)}`
  timeFunctions[name] = {
    overloads: { [`${method}(): int`]: call, [`${method}(string): int`]: call },
    // cel-js is right about the other fields in UTC, and those of durations.
    replaces: name === 'getDayOfYear' ? 'all' : 'with an argument',
    takes: 'a time zone as one string literal, or nothing for UTC',
    validateArgument: validateTimeZone,
  }
}

function describeInvalid(name: string, text: string, problem: string | undefined): string | undefined {
  return problem && `${JSON.stringify(text)} is not a ${name}: ${problem}`
}

/** Functions that are not those of cel-js, by name. */
export const conditionFunctions: ReadonlyMap<string, ConditionFunction> = new Map(
  Object.entries({ ...addedFunctions, ...timeFunctions }),
)

/** The name of the function that replaces one of cel-js. */
export function getReplacement(name: string): string {
  return `strict_${name}`
}

/** Functions that iterate over a list. They must not be nested. */
export const loopFunctions: readonly string[] = ['exists', 'exists_one', 'all']

/**
 * All functions that conditions may call. Each runs in time linear in the length of its arguments. Excluded are `matches`,
 * `map` and `filter`, whose cost a caller could choose, and conversions to `dyn` or bytes.
 */
export const allowedFunctions: readonly string[] = [
  ...'has size startsWith endsWith contains lowerAscii upperAscii trim string int double bool'.split(' '),
  ...loopFunctions,
  ...conditionFunctions.keys(),
]
