import { validateAddressRange, isInAddressRange } from '../../lib/net/addresses.ts'
import { validateFolder, isUnderFolder } from './storage-path.ts'
import { createNameMatcher } from './name-pattern.ts'

/** A function added to CEL. Its argument must be a literal, so it is validated at load. */
export interface ConditionFunction {
  readonly signature: string
  readonly call: (text: string, argument: string) => boolean
  /** Returns why the argument is invalid; undefined if it is valid. */
  readonly validateArgument: (argument: string) => string | undefined
}

/** Functions added to CEL, by name. They replace regular expressions, whose cost a caller could make very high. */
export const conditionFunctions: ReadonlyMap<string, ConditionFunction> = new Map([
  [
    'inCidr',
    {
      signature: 'string.inCidr(string): bool',
      call: isInAddressRange,
      validateArgument: validateAddressRange,
    },
  ],
  [
    'isUnder',
    { signature: 'string.isUnder(string): bool', call: isUnderFolder, validateArgument: validateFolder },
  ],
  [
    'like',
    {
      signature: 'string.like(string): bool',
      call: (text: string, pattern: string) => createNameMatcher(pattern)(text),
      validateArgument: () => undefined,
    },
  ],
])

/**
 * CEL functions that conditions may call. Each runs in time linear in the length of its arguments. Excluded are
 * `matches`, `map` and `filter`, whose cost a caller could choose, and conversions to `dyn` or bytes.
 */
export const celFunctions: readonly string[] = [
  'has',
  'size',
  'startsWith',
  'endsWith',
  'contains',
  'lowerAscii',
  'upperAscii',
  'trim',
  'exists',
  'exists_one',
  'all',
  'string',
  'int',
  'double',
  'bool',
  'timestamp',
  'duration',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getHours',
  'getMinutes',
  'getSeconds',
]

/** Functions that iterate over a list. They must not be nested. */
export const loopFunctions: ReadonlySet<string> = new Set(['exists', 'exists_one', 'all'])
