import { isInAddressRange, validateAddressRange } from '../../lib/index.ts'
import { createNameMatcher } from './name-pattern.ts'
import { isUnderFolder, validateFolder } from './storage-path.ts'
import { timeFunctions, type ConditionFunction } from './times.ts'

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

/** Functions that are not those of cel-js, by name. */
export const conditionFunctions: ReadonlyMap<string, ConditionFunction> = new Map(
  Object.entries({ ...addedFunctions, ...timeFunctions }),
)

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
