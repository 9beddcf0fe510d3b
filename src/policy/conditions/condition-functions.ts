import { validateAddressRange, isInAddressRange } from './address-range.ts'
import { validateFolder, isUnderFolder } from './storage-path.ts'
import { createNameMatcher } from './name-pattern.ts'

/** A function that conditions have besides those of CEL. Its argument is written out, so it is checked at load. */
export interface ConditionFunction {
  /** As the library declares it. */
  readonly signature: string
  readonly call: (text: string, argument: string) => boolean
  /** Why the argument cannot be used; undefined for one that can. */
  readonly validateArgument: (argument: string) => string | undefined
}

/** The functions of our own, by name. They replace regular expressions, which a caller could make very slow. */
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
 * The functions of CEL that conditions may call. Each takes no longer than its arguments are long. Not among them:
 * `matches`, `map` and `filter`, whose cost the caller could choose, and what turns types into `dyn` or bytes.
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

/** Those that go through a list, and so may not stand inside one another. */
export const loopFunctions: ReadonlySet<string> = new Set(['exists', 'exists_one', 'all'])
