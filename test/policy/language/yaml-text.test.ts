import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { YamlNode } from '../../../src/policy/language/yaml/yaml-node.ts'
import { createLocator, readYaml } from '../../../src/policy/language/yaml/read-yaml.ts'

it('finds the line and the column of every offset', () => {
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

// So deep, the library ends the process, if not the first time, then the second.
it.each(['[', '{a: ', '- ', '? ', 'x: [', '- - ? [{a: '])(
  'refuses %s without end, and lives to say it',
  (text) => {
    const errors: string[] = []
    readYaml(text.repeat(20_000), { root: () => undefined, error: (_, message) => errors.push(message) })
    expect(errors).toEqual(['nested deeper than 200 levels'])
  },
)

// The library takes all of these, and leaves out what follows the key, or makes one text of what follows the quote.
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
])('refuses what the library lets pass: %j', (text, message) => {
  const errors: string[] = []
  readYaml(text, { root: () => undefined, error: (_, message) => errors.push(message) })
  expect(errors).toEqual([message])
})

it.each(["''", "'''a'''", '"\\""', '"\\\\"', "'\\'", `"''"`])('takes quotes that are closed: %s', (text) => {
  const roots: YamlNode[] = []
  const errors: string[] = []
  readYaml(text, { root: (node) => roots.push(node), error: (_, message) => errors.push(message) })
  expect([roots.length, errors]).toEqual([1, []])
})
