import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { YamlNode } from '../../../src/policy/language/yaml/yaml-node.ts'
import { createLocator, readYaml } from '../../../src/policy/language/yaml/read-yaml.ts'

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
    readYaml(text.repeat(20_000), { root: () => undefined, error: (_, message) => errors.push(message) })
    expect(errors).toEqual(['nested deeper than 200 levels'])
  },
)

// The library accepts all of these: it drops the text after the key, or merges the text after the quote into one value.
it.each([
  ['? "a" b', 'missing colon after a key'],
  ['? "a"\'\n---\nb\'', 'missing colon after a key'],
  ['- ? a\n  - b\n', 'missing colon after a key'],
  ['? [a]\n- b', 'missing colon after a key'],
  ['? ? "a" b\n  : c\n: d', 'missing colon after a key'],
  ["'a''", 'unterminated quote'],
  ["a: '''\nb: c''''", 'unterminated quote'],
  ["- 'a\n---\n- ''", 'unterminated quote'],
  ['a: "b\\"', 'unterminated quote'],
])('rejects invalid YAML that the library accepts: %j', (text, message) => {
  const errors: string[] = []
  readYaml(text, { root: () => undefined, error: (_, message) => errors.push(message) })
  expect(errors).toEqual([message])
})

it.each(["''", "'''a'''", '"\\""', '"\\\\"', "'\\'", `"''"`])('accepts terminated quotes: %s', (text) => {
  const roots: YamlNode[] = []
  const errors: string[] = []
  readYaml(text, { root: (node) => roots.push(node), error: (_, message) => errors.push(message) })
  expect([roots.length, errors]).toEqual([1, []])
})
