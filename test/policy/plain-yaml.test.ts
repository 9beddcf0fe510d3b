import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { notPlain, plainYamlReader } from '../../src/policy/plain-yaml.ts'
import type { YamlNode } from '../../src/policy/yaml-node.ts'
import { readYaml, readYamlByLibrary, type ReadYaml } from '../../src/policy/yaml-text.ts'
import { isThorough } from '../thorough.ts'
import { policies } from './generated-policies.ts'
import { textOf } from './written-policy.ts'
import { mutated, soup, writtenYaml } from './written-yaml.ts'

/*
 * Two readers of one language are a hole where they differ. Whatever a text is, the fast one must find a fault where the
 * library finds one, and else the very same nodes at the very same places.
 */

const numRuns = isThorough ? 20_000 : 500

/** What the text holds; undefined where it has a fault. */
function rootsOf(read: ReadYaml, text: string): readonly YamlNode[] | undefined {
  const roots: YamlNode[] = []
  let isFaulty = false
  read(text, { root: (node) => roots.push(node), fault: () => (isFaulty = true) })
  return isFaulty ? undefined : roots
}

function isPlain(text: string): boolean {
  return plainYamlReader(text)(0, text.length) !== notPlain
}

it.each([
  ['written in any style', writtenYaml],
  ['written, then damaged', mutated(writtenYaml)],
  ['policies, damaged', mutated(policies.map(textOf))],
  ['of anything that means something in YAML', soup],
])('reads texts as the library does: %s', (_, texts) => {
  fc.assert(
    fc.property(texts, (text) => {
      const expected = rootsOf(readYamlByLibrary, text)
      const actual = rootsOf(readYaml, text)
      // The comparison of the test runner takes longer than both.
      if (!isDeepStrictEqual(actual, expected)) expect(actual).toStrictEqual(expected)
    }),
    { numRuns },
  )
})

const head = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p-1, description: "Who may \\"read\\"" } # for people
namespace: [prod, sales]
onDeny: 404
inherit: false
`

it.each([
  [
    'lists in a map, indented or not',
    `${head}rules:\n- id: r\n  subjects:\n    users:\n      - corp:bob\n      - 'x y'\n`,
  ],
  [
    'brackets over several lines',
    `${head}rules: [\n    { id: r,\n\n      when: branch != "main" },\n  ]\n`.replace(' },\n  ]', ' }\n  ]'),
  ],
  [
    'a condition with what means something elsewhere',
    `${head}when: groups.exists(g, g == "x") && {} != [1, 2] || !a\n`,
  ],
  ['comments anywhere', `# one\n\n${head}  # deep\nrules: # here\n# between\n  - id: r # there\n`],
  [
    'JSON on several lines',
    JSON.stringify({ kind: 'AccessPolicy', namespace: ['a"b', '\u00e9\n'], n: [1, true, null] }, null, 2),
  ],
])('reads by itself: %s', (_, text) => {
  expect(isPlain(text)).toBe(true)
  expect(rootsOf(readYaml, text)).toStrictEqual(rootsOf(readYamlByLibrary, text))
})

it.each([
  ['an anchor', 'a: &x b'],
  ['an alias', 'a: *x'],
  ['a tag', 'a: !!str 1'],
  ['a merge key', '<<: { a: b }'],
  ['a key that is no text', 'true: a'],
  ['a key that is a map', '{ a: b }: c'],
  ['an explicit key', '? a\n: b'],
  ['a repeated key', 'a: b\n"a": c'],
  ['an empty value', 'a:\nb: c'],
  ['a key alone', '{ a }'],
  ['a text over several lines', 'a: b\n  c'],
  ['a text of a block', 'a: |\n  b'],
  ['quotes over several lines', 'a: "b\n  c"'],
  ['a tab', 'a:\tb'],
  ['what only looks like a comment', 'a: "b"#c'],
  ['a comma at the end', '[a, ]'],
  ['a pair in a list', '[a: b]'],
  ['two keys in a line', 'a: b: c'],
  ['a value that is less indented than its brackets', 'a: [\nb]'],
  ['a line that is indented for no reason', 'a: b\n  c: d'],
  ['an escape that JSON does not know', 'a: "\\x41"'],
  ['more depth than anybody needs', `${'['.repeat(65)}${']'.repeat(65)}`],
])('leaves to the library: %s', (_, text) => {
  expect(isPlain(text)).toBe(false)
})

// So deep, the library ends the process, if not the first time, then the second.
it.each(['[', '{a: ', '- ', '? ', 'x: [', '- - ? [{a: '])(
  'refuses %s without end, and lives to say it',
  (text) => {
    const faults: string[] = []
    readYaml(text.repeat(20_000), { root: () => undefined, fault: (_, message) => faults.push(message) })
    expect(faults).toEqual(['nested deeper than 200 levels'])
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
  const faults: string[] = []
  readYamlByLibrary(text, { root: () => undefined, fault: (_, message) => faults.push(message) })
  expect(faults).toEqual([message])
  expect(rootsOf(readYaml, text)).toBeUndefined()
})

it.each(["''", "'''a'''", '"\\""', '"\\\\"', "'\\'", `"''"`])('takes quotes that are closed: %s', (text) => {
  expect(rootsOf(readYamlByLibrary, text)).toHaveLength(1)
})

it('reads what is plain itself where other documents of the file are not, and finds each where it is', () => {
  const text = 'a: b\n---\na: |\n  ---- x\n--- # c\na: &x c\n---\n"---": d\n---   \n'
  expect(rootsOf(readYaml, text)).toHaveLength(4)
  expect(rootsOf(readYaml, text)).toStrictEqual(rootsOf(readYamlByLibrary, text))
})
