import { describe, expect, it } from 'vitest'
import { FilterError } from '../../../src/policy/restrictions/filter-tokens.ts'
import { seededRandom, type Random } from '../../differential/random.ts'
import { createCondition } from '../../restricted-reads/support/random-read.ts'
import { seed } from '../../support/seed.ts'
import { isThorough } from '../../support/thorough.ts'
import { hostileFilters, largeFilters } from './hostile-filters.ts'
import { findForeign, printRestricted } from './restricted-filter.ts'

/** Returns the foreign parts of what the engine would get, none if the filter is refused. */
function findForeignIn(filter: string): readonly string[] {
  const printed = printRestricted(filter)
  return printed instanceof FilterError ? [] : findForeign(printed)
}

it('prints visible columns and conditions only, or refuses', () => {
  const escaped = hostileFilters.filter((filter) => findForeignIn(filter).length > 0)
  expect(escaped).toEqual([])
  const refused = hostileFilters.filter((filter) => printRestricted(filter) instanceof FilterError)
  expect(refused.length).toBeGreaterThan(hostileFilters.length * 0.9)
})

it.each([
  ['id = 1 or `ssn` = 2', '`ssn`'],
  ["name = 'a' or ssn = ''", 'ssn'],
  ["name = '''' ; drop", 'drop'],
  ['(id = 1) -- x', '--'],
  ['cast(id AS int)', 'cast'],
])('would notice %j as foreign', (printed, foreign) => {
  expect(findForeign(printed)).toContain(foreign)
})

describe.each(Object.entries(largeFilters))('%s', (_, filter) => {
  it('is refused or printed in little time', () => {
    const start = performance.now()
    expect(findForeignIn(filter)).toEqual([])
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

/** Words and signs that mean something to a parser of SQL. */
const vocabulary = [
  ...'( ) = == <> < >= , . - -- /* */ ; \\ :: [ ] @ $$ $principal.name 1 -1 2.5 1e3 \u00a0 \u0000'.split(' '),
  ..."' '' 'n2' \" ` `id` `ssn` id name ok amount tags ssn region person.ssn note.open".split(' '),
  ...'and OR not in is null true false like between date timestamp lower( starts_with( array_has('.split(' '),
  "'2026-01-01'",
  ' ',
  '\n',
]

const count = isThorough ? 200_000 : 3_300

it('prints visible columns and conditions only, or refuses, for random words', () => {
  const { pick, below, chance } = seededRandom(seed)
  for (let made = 0; made < count; made += 1) {
    const words = Array.from({ length: 1 + below(14) }, () => pick(vocabulary) + (chance(0.5) ? ' ' : ''))
    expect(findForeignIn(words.join('')), words.join('')).toEqual([])
  }
})

/** Of any script, a control character, or half of one. */
function pickCharacter({ below, chance }: Random): string {
  return String.fromCodePoint(below(chance(0.5) ? 0x11_0000 : 0x3000))
}

it('prints a condition that is read as the same condition, also if parts of it are replaced', () => {
  const random = seededRandom(seed)
  let accepted = 0
  for (let made = 0; made < count; made += 1) {
    const condition = createCondition(random, random.chance(0.3), random.below(4))
    const at = random.below(condition.length)
    const added = random.chance(0.5) ? random.pick(vocabulary) : pickCharacter(random)
    const filter = random.chance(0.5)
      ? condition
      : condition.slice(0, at) + added + condition.slice(at + random.below(3))
    const printed = printRestricted(filter)
    if (printed instanceof FilterError) continue
    accepted += 1
    expect(findForeign(printed), filter).toEqual([])
    expect(printRestricted(printed), filter).toBe(printed)
  }
  expect(accepted).toBeGreaterThan(count / 4)
})
