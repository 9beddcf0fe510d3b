import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createLocator, readYaml } from '../../../src/policy/language/read-yaml.ts'

/** Returns the number of documents. */
function read(text: string, error: (offset: number, message: string) => void): number {
  return [...readYaml(text, error)].length
}

it('locates the line and column of every offset', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r\n', '\u00e9') }), (text) => {
      const locate = createLocator(text)
      for (let offset = 0; offset <= text.length; offset++) {
        const lines = text.slice(0, offset).split('\n')
        expect(locate(offset)).toEqual({ line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 })
      }
    }),
  )
})

// At this depth the library ends the process, at the latest in the second attempt.
it.each(['[', '{a: ', '- ', '? ', 'x: [', '- - ? [{a: '])(
  'rejects endlessly nested %s without crashing',
  (text) => {
    const errors: string[] = []
    read(text.repeat(20_000), (_, message) => errors.push(message))
    expect(errors).toEqual(['nested deeper than 200 levels'])
  },
)

// Files that begin with one can be concatenated.
it.each([
  ['at the start', '\ufeffa: 1\n---\nb: 2\n', 2, []],
  ['behind a comment', '# a\n\ufeffa: 1\n', 1, []],
  ['behind the end of a document', 'a: 1\n...\n\ufeffb: 2\n', 2, []],
  ['in a string', 'a: "\ufeff"\nb: x\ufeff\n', 1, []],
  ['behind a document marker', 'a: 1\n---\n\ufeffb: 2\n', 1, [9]],
  ['before a document marker', 'a: 1\n\ufeff---\nb: 2\n', 0, [5]],
  ['before a key', 'a: 1\n\ufeffb: 2\n', 0, [5]],
  ['twice at the start', '\ufeff\ufeffa: 1\n', 0, [1]],
])('a byte order mark %s', (_where, text, roots, offsets) => {
  const found: number[] = []
  const error = (offset: number, message: string): void => {
    expect(message).toBe('unexpected byte order mark (U+FEFF) within a document; remove it')
    found.push(offset)
  }
  const count = read(text, error)
  expect({ count, found }).toEqual({ count: roots, found: offsets })
})

// The library would drop the text after a key without a colon, or merge the text after the quote into one value.
it.each([
  ['? "a" b', 'a key with "?" is not supported'],
  ['- ? [a]\n  : b\n', 'a key with "?" is not supported'],
  ["'a''", 'unterminated quote'],
  ["a: '''\nb: c''''", 'unterminated quote'],
  ["- 'a\n---\n- ''", 'unterminated quote'],
  ['a: "b\\"', 'unterminated quote'],
])('rejects what the library would misread: %j', (text, message) => {
  const errors: string[] = []
  read(text, (_, message) => errors.push(message))
  expect(errors).toEqual([message])
})

// The library would drop the negation.
it.each(['a: ! b', 'a: !  (b)', 'a: !\n  b', '! b', '- ! b', '{ a: ! b }', '[! b]', 'a: &x ! b', 'a: ! "b"'])(
  'rejects a negation that is not in quotes: %j',
  (text) => {
    const errors: string[] = []
    read(text, (_, message) => errors.push(message))
    expect(errors).toEqual([
      expect.stringMatching(/YAML tag; put a condition that begins with "!" in quotes/),
    ])
  },
)

it.each(["''", "'''a'''", '"\\""', '"\\\\"', "'\\'", `"''"`])('accepts terminated quotes: %s', (text) => {
  const errors: string[] = []
  expect([read(text, (_, message) => errors.push(message)), errors]).toEqual([1, []])
})
