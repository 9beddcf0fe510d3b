import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assertDelimiter,
  assertName,
  assertReference,
  assertSeparable,
  defaultDelimiter,
  formatIdentifier,
  isBranchName,
  isSameIdentifier,
  isSeparable,
  isWithin,
  listCommonSeparators,
  parseIdentifier,
  quoteForMessage,
} from '../../src/catalog-api/identifiers.ts'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
import { anyDelimiter, anyIdentifier } from './arbitrary-targets.ts'
import { isThorough } from '../support/thorough.ts'
import { anyCharacter } from '../support/any-character.ts'

describe('ids', () => {
  it('round-trip with any delimiter', () => {
    fc.assert(
      fc.property(anyIdentifier, anyDelimiter, (id, delimiter) => {
        let text: string
        try {
          text = formatIdentifier(id, delimiter)
        } catch (error) {
          // Only an id that the delimiter cannot separate may be refused.
          expect(error).toBeInstanceOf(CatalogError)
          expect(id.join('\n').length === 0 || id.join(delimiter).split(delimiter)).not.toEqual(id)
          return
        }
        expect(parseIdentifier(text, delimiter)).toEqual(id)
      }),
      { numRuns: isThorough ? 10_000 : 330 },
    )
  })

  it('never lose or merge a part: accepted text is its parts joined', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), anyDelimiter, (text, delimiter) => {
        let id: readonly string[]
        try {
          id = parseIdentifier(text, delimiter)
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError)
          return
        }
        expect(id.length === 0 ? delimiter : id.join(delimiter)).toBe(text)
        for (const part of id) expect(part).not.toBe('')
      }),
      { numRuns: isThorough ? 10_000 : 330 },
    )
  })

  it('parse the delimiter alone as the root', () => {
    expect(parseIdentifier('$', '$')).toEqual([])
    expect(parseIdentifier('::', '::')).toEqual([])
    expect(formatIdentifier([], '.')).toBe('.')
  })

  it.each([
    ['an empty part in the middle', 'a$$b'],
    ['an empty last part', 'a$'],
    ['nothing at all', ''],
    ['a dot', '.'],
    ['two dots', 'a$..'],
    ['a backslash', 'a\\b'],
    ['a slash', 'a/b'],
    ['a percent sign, which a second decoding would read', 'a%24b'],
    ['a quote', "x') OR starts_with(object_id,'secret"],
    ['a NUL', 'a\0'],
    ['a line break', 'a\r\nb'],
    ['half a surrogate pair', 'a\ud800'],
    ['a control character of the second block', 'a\u0085b'],
    ['more than 64 parts', Array.from({ length: 65 }, () => 'a').join('$')],
    ['more than 4096 bytes', 'ä'.repeat(2049)],
  ])('are refused with %s', (_what, text) => {
    expect(() => parseIdentifier(text, '$')).toThrow(CatalogError)
  })

  it('are compared by code points: composed and decomposed letters differ', () => {
    expect(parseIdentifier('\u00e4', '$')).not.toEqual(parseIdentifier('a\u0308', '$'))
  })

  it('cannot be formatted with a delimiter that one of their parts contains', () => {
    expect(() => formatIdentifier(['a$b'], '$')).toThrow(/contains "\$"/)
    expect(() => formatIdentifier(['a:', 'b'], '::')).toThrow(/cannot be written/)
    expect(formatIdentifier(['a$b'], '.')).toBe('a$b')
    expect(isSeparable(['a', 'b$c'], '$')).toBe(false)
    expect(() => assertSeparable(['a$b'], ['.', '$'])).toThrow(/contains "\$"/)
    expect(() => assertSeparable(['a$b'], ['.', '::'])).not.toThrow()
  })

  it('are limited to 64 parts and 4096 bytes in total', () => {
    const parts = Array.from({ length: 64 }, () => 'a'.repeat(64))
    expect(parseIdentifier(parts.join('$'), '$')).toEqual(parts)
    expect(() => parseIdentifier([...parts.slice(1), 'a'.repeat(65)].join('$'), '$')).toThrow(/4097 bytes/)
  })

  it('may contain characters of the delimiter if the result is unambiguous', () => {
    expect(formatIdentifier(['a:', 'b'], '.')).toBe('a:.b')
    expect(formatIdentifier(['a', 'b:'], '::')).toBe('a::b:')
  })

  it('are equal if all parts are', () => {
    expect(isSameIdentifier(['a', 'b'], ['a', 'b'])).toBe(true)
    expect(isSameIdentifier([], [])).toBe(true)
    expect(isSameIdentifier(['a', 'b'], ['a', 'c'])).toBe(false)
    expect(isSameIdentifier(['b', 'a'], ['c', 'a'])).toBe(false)
    expect(isSameIdentifier(['a'], ['a', 'b'])).toBe(false)
    expect(isSameIdentifier(['a', 'b'], ['a'])).toBe(false)
  })

  it('are within a namespace that is the beginning of their parts, or the same', () => {
    expect(isWithin(['a', 'b'], [])).toBe(true)
    expect(isWithin(['a', 'b'], ['a'])).toBe(true)
    expect(isWithin(['a', 'b'], ['a', 'b'])).toBe(true)
    expect(isWithin(['a'], ['a', 'b'])).toBe(false)
    expect(isWithin(['c', 'b'], ['a', 'b'])).toBe(false)
    expect(isWithin(['ab'], ['a'])).toBe(false)
  })
})

// They become paths in the storage of the table.
describe('names of branches and tags', () => {
  it.each(['main', 'v1.2_x-y', 'été', 'lock', 'lock.file'])('may be %s', (name) => {
    expect(() => assertReference('branch', name)).not.toThrow()
    expect(() => assertReference('tag', name)).not.toThrow()
  })

  it.each(['a/b', 'feature/one.two', '.a', 'a.', '.lockfile'])('are of branches alone: %s', (name) => {
    expect(() => assertReference('branch', name)).not.toThrow()
    expect(() => assertReference('tag', name)).toThrow(`"${name}" is not a valid tag name`)
  })

  it.each([
    '.',
    '..',
    'a..b',
    '../a',
    'a/..',
    'a/./b',
    '/a',
    'a/',
    'a//b',
    'a.lock',
    'a/b.lock',
    'a b',
    ' a',
    'a ',
    'a\\b',
    'a\u0000',
    'a$b',
  ])('are never %j', (name) => {
    expect(() => assertReference('branch', name)).toThrow(
      `${JSON.stringify(name)} is not a valid branch name`,
    )
    expect(() => assertReference('tag', name)).toThrow(`${JSON.stringify(name)} is not a valid tag name`)
  })

  it('are empty only for the main branch', () => {
    expect(() => assertReference('branch', '')).not.toThrow()
    expect(isBranchName('')).toBe(false)
    expect(() => assertReference('tag', '')).toThrow('"" is not a valid tag name')
  })
})

describe('delimiters', () => {
  it('default to a dollar sign', () => {
    expect(defaultDelimiter).toBe('$')
  })

  it.each(['$', '.', '::', '%', 'a'.repeat(16)])('may be %s', (delimiter) => {
    expect(() => assertDelimiter(delimiter)).not.toThrow()
  })

  it.each([
    ['nothing', '', /is empty/],
    ['17 characters', 'a'.repeat(17), /longer than 16 characters/],
    ['a control character', 'a\n', /control character/],
    ['a backslash', '\\$', /backslash/],
  ])('are refused with %s', (_what, delimiter, message) => {
    expect(() => assertDelimiter(delimiter)).toThrow(message)
  })
})

describe('strings that no name contains', () => {
  it.each([
    [[], ['$']],
    [['.'], ['.', '$']],
    [
      ['.', '.'],
      ['.', '$'],
    ],
    [['.', '::'], ['$']],
  ])('with the delimiters %j are %j', (delimiters, separators) => {
    expect(listCommonSeparators(delimiters)).toEqual(separators)
  })
})

describe('messages about names', () => {
  it('state the error and the name', () => {
    expect(() => parseIdentifier('a$', '$')).toThrow('a part of the id is empty: ["a",""]')
    expect(() => parseIdentifier('a/b', '$')).toThrow('a part of the id, "a/b", contains "/"')
    expect(() => assertName('', 'the name of the index')).toThrow('the name of the index is empty')
    expect(() => assertName('..', 'the name')).toThrow('the name is "..", which is a path segment')
    expect(() => assertName('a/b', 'the name')).toThrow('the name, "a/b", contains "/"')
  })

  it('truncate values longer than 80 characters', () => {
    expect(quoteForMessage('a'.repeat(80))).toBe(`"${'a'.repeat(80)}"`)
    expect(quoteForMessage('a'.repeat(81))).toBe(`"${'a'.repeat(77)}..."`)
    expect(quoteForMessage('"\n')).toBe(String.raw`"\"\n"`)
  })
})
