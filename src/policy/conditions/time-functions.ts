import { Environment } from '@marcbachmann/cel-js'
import { parseTimestamp, validateTimestamp } from '../../lib/time.ts'
import { getDayOfYear } from './time-zones.ts'

/**
 * Functions that replace those of cel-js, which reads February 30 as March 2, a time without zone in that of the
 * process, `s` as no seconds, and durations of any length. By name, with the name under which it is called instead.
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
  [
    'getDayOfYear',
    {
      name: 'dayOfYearInUtc',
      overloads: [
        ['google.protobuf.Timestamp.dayOfYearInUtc(): int', (time: Date) => BigInt(getDayOfYear(time))],
      ],
      validateArgument: () => undefined,
    },
  ],
])

interface TimeFunction {
  readonly name: string
  readonly overloads: readonly (readonly [signature: string, call: (argument: never) => unknown])[]
  /** Returns why a text is not a valid argument; undefined if it is one. */
  readonly validateArgument: (text: string) => string | undefined
}

const units: Readonly<Record<string, number>> = {
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
const grammar = new RegExp(`^[-+]?(?:${part})+$`)
/** 10,000 years, the range of CEL: the sum of a time and a longer duration might have no date. */
const maxSeconds = 315_576_000_000

const celTimestamp = new Environment().registerVariable('seconds', 'int').parse('timestamp(seconds)')
const celDuration = new Environment().registerVariable('text', 'string').parse('duration(text)')

/** Errors do not contain the text, which may come from the request. */
function readTimestamp(text: string): Date {
  if (validateTimestamp(text) !== undefined) throw new Error('invalid timestamp')
  return new Date(parseTimestamp(text))
}

function readDuration(text: string): unknown {
  if (validateDuration(text) !== undefined) throw new Error('invalid duration')
  return celDuration({ text })
}

function validateDuration(text: string): string | undefined {
  if (!grammar.test(text)) {
    const days = /^(\d+)d$/.exec(text)?.[1]
    const example = days === undefined ? '"1h30m" or "90s"' : `"${Number(days) * 24}h"; days have no unit`
    return `expected numbers with the units h, m, s, ms, us or ns, such as ${example}`
  }
  let seconds = 0
  for (const [, count, unit = ''] of text.matchAll(parts))
    seconds += Number(count) * (units[unit] ?? Number.NaN)
  return seconds <= maxSeconds ? undefined : 'it is longer than 10,000 years'
}
