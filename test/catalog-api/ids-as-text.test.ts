import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
import {
  formatIdentifierText,
  parseIdentifierText,
  formatIdentifierForMessage,
} from '../../src/catalog-api/identifier-text.ts'
import { assertIdentifier } from '../../src/catalog-api/identifiers.ts'
import { anyIdentifier } from './arbitrary-targets.ts'
import { isThorough } from '../support/thorough.ts'

const numRuns = isThorough ? 20_000 : 665
/** Names with characters that mean something in one of the forms. */
const difficultName = fc
  .array(fc.constantFrom('a', 'b', '$', '[', ']', ',', ' ', '.', 'ü'), { minLength: 1, maxLength: 5 })
  .map((characters) => characters.join(''))
  .filter((name) => name !== '.' && name !== '..')
const difficultIdentifier = fc.array(difficultName, { maxLength: 4 })

it.each([
  ['any id', anyIdentifier],
  ['ids with difficult names', difficultIdentifier],
])('a printed id is read as the same id: %s', (_what, identifiers) => {
  fc.assert(
    fc.property(identifiers, (id) => {
      expect(parseIdentifierText(formatIdentifierText(id))).toEqual(id)
    }),
    { numRuns },
  )
})

it('a text is read as an id that is printed as the same id, or refused', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(difficultName, fc.constantFrom('/', '$', '')), { maxLength: 6 }),
      (parts) => {
        let id: readonly string[]
        try {
          id = parseIdentifierText(parts.join(''))
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError)
          return
        }
        expect(assertIdentifier(id)).toEqual(id)
        expect(parseIdentifierText(formatIdentifierText(id))).toEqual(id)
      },
    ),
    { numRuns },
  )
})

it.each([
  ['prod/sales/orders', ['prod', 'sales', 'orders']],
  ['prod$sales$orders', ['prod', 'sales', 'orders']],
  ['["prod", "sales", "orders"]', ['prod', 'sales', 'orders']],
  ['prod', ['prod']],
  ['v1.0/a b', ['v1.0', 'a b']],
  ['/', []],
  ['$', []],
  ['[]', []],
])('reads %s', (text, id) => {
  expect(parseIdentifierText(text)).toEqual(id)
})

it.each([
  [['prod', 'sales', 'orders'], 'prod/sales/orders'],
  [[], '/'],
  [['prod', 'a$b'], '["prod", "a$b"]'],
  [['[a]', 'b'], '["[a]", "b"]'],
  [['a', '[b]'], 'a/[b]'],
])('prints %j as %s', (id, text) => {
  expect(formatIdentifierText(id)).toBe(text)
})

it.each([
  ['', 'a part of the id is empty'],
  ['/prod', 'a part of the id is empty'],
  ['prod/', 'a part of the id is empty'],
  ['prod$$sales', 'a part of the id is empty'],
  ['$/', 'the id "$/" has both'],
  [
    'prod/sales$orders',
    'the id "prod/sales$orders" has both "/" and "$"; expected prod/sales/orders, or ["prod", "sales$orders"]',
  ],
  ['prod\\sales', 'contains "\\\\"'],
  ['prod/..', 'is "..", which is a path segment'],
  ['[prod, sales]', 'the id "[prod, sales]" is not a list of names; expected such as ["prod", "sales"]'],
  ['["prod", 1]', 'is not a list of names'],
  ['["prod/sales"]', 'contains "/"'],
  ['["prod", ""]', 'a part of the id is empty'],
])('refuses %s', (text, message) => {
  expect(() => parseIdentifierText(text)).toThrow(message)
})

it('an id in an error of the catalog API is read as the same id', () => {
  fc.assert(
    fc.property(
      difficultIdentifier.filter((id) => id.length > 0 && id.join().length < 60),
      (id) => {
        const text = formatIdentifierForMessage(id)
        expect(parseIdentifierText(text.startsWith('[') ? text : (JSON.parse(text) as string))).toEqual(id)
      },
    ),
    { numRuns },
  )
})

it.each([
  [[], 'the root'],
  [['prod', 'sales'], '"prod$sales"'],
  [['a$b'], '["a$b"]'],
  [['x$'.repeat(60)], `["${'x$'.repeat(60)}`.slice(0, 77) + '...'],
])('names %j in messages', (id, text) => {
  expect(formatIdentifierForMessage(id)).toBe(text)
})
