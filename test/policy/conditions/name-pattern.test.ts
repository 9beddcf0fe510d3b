import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createNameMatcher } from '../../../src/policy/conditions/name-pattern.ts'
import { oracleMatches } from '../decision-oracle.ts'
import { isThorough } from '../../support/thorough.ts'

it.each([
  ['orders', 'orders', true],
  ['orders', 'Orders', false],
  ['orders', 'orders_2024', false],
  ['evt_*', 'evt_', true],
  ['evt_*', 'evt_click', true],
  ['evt_*', 'my_evt_click', false],
  ['*_raw', 'clicks_raw', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['*', 'anything', true],
  ['a.c', 'abc', false],
  ['\u00e9*', 'e\u0301t\u00e9', false],
])('matching %s against %s gives %s', (pattern, name, expected) => {
  expect(createNameMatcher(pattern)(name)).toBe(expected)
})

it('matches like an exhaustive search', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 }),
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }),
      (pattern, name) => {
        expect(createNameMatcher(pattern)(name)).toBe(oracleMatches(pattern, name))
      },
    ),
    { numRuns: isThorough ? 20_000 : 665 },
  )
})
