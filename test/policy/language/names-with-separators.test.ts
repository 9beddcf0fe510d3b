import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'

function errors(lines: string, separators?: readonly string[]): readonly string[] {
  const text = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
${lines}
`
  const vocabulary = createPolicyVocabulary(separators === undefined ? {} : { separators })
  return parsePolicies(text, 'p.yaml', vocabulary).problems.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  )
}

const test = (object: string): string =>
  `namespace: []\nrules: []\ntests:\n  - { operations: [QueryTable], expect: deny, ${object} }`
const rule = '{ id: r, effect: allow, subjects: { any: true }, operations: [read]'

it.each([
  [
    "namespace: ['prod$sales']\nrules: []",
    '4:13 namespace[0]: "prod$sales" contains "$", which separates names; expected ["prod", "sales"]',
  ],
  [
    "namespace: [eu, 'prod/sales']\nrules: []",
    '4:17 namespace[1]: "prod/sales" contains "/", which separates names; expected ["eu", "prod", "sales"]',
  ],
  [
    `namespace: [prod]\nrules: [${rule}, tables: ['sales$*'] }]`,
    '5:87 rules[0].tables[0]: "sales$*" contains "$", which separates names; expected the name alone: the namespace is ' +
      'that of the policy',
  ],
  [
    "namespace: [prod]\nrestrict: [{ id: r, subjects: { any: true }, tables: ['sales$orders'], columns: { a: text } }]",
    '5:55 restrict[0].tables[0]: "sales$orders" contains "$", which separates names; expected the name alone: the ' +
      'namespace is that of the policy',
  ],
  [
    test("table: ['prod$orders']"),
    '7:55 tests[0].table[0]: "prod$orders" contains "$", which separates names; expected ["prod", "orders"]',
  ],
  [
    test("table: [t], given: { destination: ['a$b'] }").replace('QueryTable', 'RenameTable'),
    '7:83 tests[0].given.destination[0]: "a$b" contains "$", which separates names; expected ["a", "b"]',
  ],
])('reports a name with a separator, with its position: %s', (lines, error) => {
  expect(errors(lines)).toEqual([error])
})

it('the separators are those of the catalogs', () => {
  const dollar = "namespace: ['a$b']\nrules: []"
  const dot = 'namespace: [a.b]\nrules: []'
  expect(errors(dollar, ['.'])).toEqual([])
  expect(errors(dot)).toEqual([])
  expect(errors(dot, ['.'])).toEqual([
    '4:13 namespace[0]: "a.b" contains ".", which separates names; expected ["a", "b"]',
  ])
})
