import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatIdentifier, parseIdentifier } from '../../src/interface/identifiers.ts'
import { InterfaceError } from '../../src/interface/errors.ts'
import { anyDelimiter, anyIdentifier } from './arbitrary-targets.ts'
import { isThorough } from '../thorough.ts'

describe('ids', () => {
  it('read back as they were written, with any delimiter', () => {
    fc.assert(
      fc.property(anyIdentifier, anyDelimiter, (id, delimiter) => {
        let text: string
        try {
          text = formatIdentifier(id, delimiter)
        } catch (error) {
          // Only an id that the delimiter cannot separate may be refused.
          expect(error).toBeInstanceOf(InterfaceError)
          expect(id.join('\n').length === 0 || id.join(delimiter).split(delimiter)).not.toEqual(id)
          return
        }
        expect(parseIdentifier(text, delimiter)).toEqual(id)
      }),
      { numRuns: isThorough ? 10_000 : 1_000 },
    )
  })

  it('never lose or merge a part: an accepted text is its parts joined', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), anyDelimiter, (text, delimiter) => {
        let id: readonly string[]
        try {
          id = parseIdentifier(text, delimiter)
        } catch (error) {
          expect(error).toBeInstanceOf(InterfaceError)
          return
        }
        expect(id.length === 0 ? delimiter : id.join(delimiter)).toBe(text)
        for (const part of id) expect(part).not.toBe('')
      }),
      { numRuns: isThorough ? 10_000 : 1_000 },
    )
  })

  it('have the delimiter alone as the root', () => {
    expect(parseIdentifier('$', '$')).toEqual([])
    expect(parseIdentifier('::', '::')).toEqual([])
    expect(formatIdentifier([], '.')).toBe('.')
  })

  it.each([
    ['an empty part in the middle', 'a$$b'],
    ['an empty first part', '$a'],
    ['an empty last part', 'a$'],
    ['two delimiters alone', '$$'],
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
    expect(() => parseIdentifier(text, '$')).toThrow(InterfaceError)
  })

  it('are compared as exact code points: composed and decomposed letters are two names', () => {
    expect(parseIdentifier('\u00e4', '$')).not.toEqual(parseIdentifier('a\u0308', '$'))
  })

  it('cannot be written with a delimiter that one of their parts holds', () => {
    expect(() => formatIdentifier(['a$b'], '$')).toThrow(/holds "\$"/)
    expect(() => formatIdentifier(['a:', 'b'], '::')).toThrow(/cannot be written/)
    expect(formatIdentifier(['a$b'], '.')).toBe('a$b')
  })
})
