import type { ColumnType } from '../../../policy/restrictions/column-type.ts'
import { printValue } from '../../../policy/restrictions/print-filter.ts'
import type { VisibleColumns } from '../../../policy/restrictions/restriction.ts'

/** Two conditions, each of which holds for some rows, and both for none. */
export type Split = readonly [string, string]

/** Counts the rows that fulfil a condition; undefined if the upstream refuses it, as for a number that the type does not have. */
export type CountRows = (condition: string) => Promise<number | undefined>

/** Each takes one count. */
const maxSteps = 40
const maxColumns = 3

/** Literals among which the values of a column of each type lie; `position` is from 0 to 1, and larger for larger values. */
const literals: Partial<Readonly<Record<ColumnType, (position: number) => string>>> = {
  // Engines compare columns of integers with integers only.
  number: (position) => {
    const exponent = (position * 2 - 1) * 53
    return String(BigInt(Math.trunc(Math.sign(exponent) * (2 ** Math.abs(exponent) - 1))))
  },
  text: (position) => `'${toText(position)}'`,
}

/** The printable characters of ASCII that texts in filters have unescaped. */
const characters = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).filter(
  (character) => character !== "'" && character !== '\\',
)

/** A text that is larger for a larger position. */
function toText(position: number): string {
  let rest = position
  return Array.from({ length: 7 }, () => {
    rest *= characters.length
    const index = Math.min(Math.floor(rest), characters.length - 1)
    rest -= index
    return characters[index]
  }).join('')
}

/**
 * Finds a split of the rows that fulfil `base`, by the values of one of the columns; undefined if these are all alike, or
 * of other types. It sees counts only, never values.
 */
export async function findSplit(
  columns: VisibleColumns,
  base: string,
  count: CountRows,
): Promise<Split | undefined> {
  const tried = [...columns].filter(([, type]) => literals[type] !== undefined).slice(0, maxColumns)
  for (const [path, type] of tried) {
    const column = printValue({ kind: 'column', path: path.split('.'), type })
    const toLiteral = literals[type]
    const found = toLiteral && (await bisect(column, `${base} AND ${column} IS NOT NULL`, toLiteral, count))
    if (found !== undefined) return found
  }
  return undefined
}

async function bisect(
  column: string,
  base: string,
  toLiteral: (position: number) => string,
  count: CountRows,
): Promise<Split | undefined> {
  const all = await count(base)
  if (all === undefined || all < 2) return undefined
  let [low, high] = [0, 1]
  for (let step = 0; step < maxSteps; step += 1) {
    const position = (low + high) / 2
    const literal = toLiteral(position)
    const below = await count(`${base} AND ${column} < ${literal}`)
    if (below === undefined) return undefined
    if (below > 0 && below < all)
      return [`${base} AND ${column} < ${literal}`, `${base} AND ${column} >= ${literal}`]
    if (below === 0) low = position
    else high = position
  }
  return undefined
}
