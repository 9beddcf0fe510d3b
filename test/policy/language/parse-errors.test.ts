import { permissionGroups } from '../../../src/catalog-api/permissions.ts'
import { expect, it } from 'vitest'
import { builtInVocabulary, createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { parsePolicies } from '../parse-policies.ts'

const head = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: [a]
`

function errors(text: string, vocabulary = builtInVocabulary): readonly string[] {
  return parsePolicies(text, 'p.yaml', vocabulary).problems.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  )
}

it('lists operations and groups if a name is like none of them', () => {
  const groups = [...permissionGroups.keys()].join(', ')
  const known = `expected operations such as InsertIntoTable, or the groups ${groups}`
  for (const name of ['Fly', 'constructor'])
    expect(errors(`${head}final: [${name}]\nrules: []\n`)).toEqual([
      `5:9 final[0]: unknown operation or group "${name}"; ${known}`,
    ])
})

it('reads a document with all fields', () => {
  const { documents, problems } = parsePolicies(
    `# A comment, and nothing before the first separator.
---
${head}inherit: false
rules:
  - id: r
    effect: deny
    subjects: { users: ["corp:alice"], groups: [g] }
    operations: [query, DropTable]
    tables: ['evt_*']
`,
    'p.yaml',
  )
  expect(problems).toEqual([])
  expect(documents).toMatchObject([
    {
      name: 'p',
      namespace: ['a'],
      inherit: false,
      rules: [
        {
          id: 'r',
          effect: 'deny',
          subjects: { users: ['corp:alice'], groups: ['g'], keys: [], any: false, anonymous: false },
          // What the operations cover: what-a-deny-covers.test.ts.
          tables: ['evt_*'],
          condition: undefined,
          line: 9,
          column: 5,
        },
      ],
      file: 'p.yaml',
      line: 5,
      column: 19,
    },
  ])
})

it('reports all errors at once with their positions', () => {
  const text = `apiVersion: catalog-gateway/v2
kind: Policy
metadata: { name: 'a b' }
namespace: prod.sales
inherit: yes
rules:
  - id: r
    effect: Deny
    subjects: { user: [a] }
    operation: [read]
---
${head}rules:
  - id: r
    effect: allow
    subjects: { any: true }
    operations: [InsertInTable]
  - id: r
    effect: allow
    subjects: { any: true }
    operations: [read]
---
- no map
`
  expect(errors(text)).toEqual([
    '1:13 apiVersion is "catalog-gateway/v2"; expected catalog-gateway/v1 or catalog-gateway.dev/v1; did you mean "catalog-gateway/v1"?',
    '2:7 kind is "Policy"; expected AccessPolicy',
    '3:19 metadata.name is "a b"; expected 1 to 128 letters, digits or any of . _ -',
    '4:12 namespace is "prod.sales"; expected a list, such as [prod, sales]',
    '5:10 inherit is "yes"; expected true or false',
    '7:5 rules[0].operations is missing; expected a list, such as [read, InsertIntoTable]',
    '8:13 rules[0].effect is "Deny"; expected allow or deny; did you mean "deny"?',
    '9:17 unknown field "rules[0].subjects.user"; did you mean "users"?',
    '10:5 unknown field "rules[0].operation"; did you mean "operations"?',
    '20:18 rules[0].operations[0]: unknown operation or group "InsertInTable"; did you mean "InsertIntoTable"?',
    '21:5 rules[1]: duplicate rule id "r", also in line 17',
    '26:1 the document is a list; expected fields: apiVersion, kind, metadata, mode, forEach, namespace, inherit, final, onDeny, contact, commits, restrict, tags, rules, tests',
  ])
})

it('rejects keys that are equal for a value of forEach', () => {
  const policy = `${head.replace('[a]', "['{team}']")}forEach: { team: [crm, b] }
tags:
  tables:
    '{team}_x': { tags: [pii] }
    crm_x: { tags: [other], columns: { '{team}': text, crm: text, b: text } }
`
  expect(errors(policy)).toEqual([
    '9:5 duplicate key "crm_x" (team: crm)',
    '9:56 duplicate key "crm" (team: crm)',
    '9:67 duplicate key "b" (team: b)',
  ])
})

it('does not follow aliases, so a small file cannot expand', () => {
  const bomb = Array.from(
    { length: 30 },
    (_, depth) => `x${depth + 1}: &x${depth + 1} [*x${depth}, *x${depth}]`,
  )
  expect(errors(`${head}x0: &x0 [a]\n${bomb.join('\n')}\nrules: *x30\n`)).toContain(
    '36:8 rules is an alias; aliases are not supported, and a text that begins with "*" needs quotes',
  )
})

it('reports only the first error of invalid YAML, at any depth', () => {
  expect(errors(`${head}rules: [`)).toHaveLength(1)
  expect(errors('['.repeat(100_000))).toHaveLength(1)
  expect(errors(`${head}rules: !!set {}\n`)).toEqual(['5:8 Unresolved tag: tag:yaml.org,2002:set'])
})

it('uses YAML 1.2 whatever version the text declares', () => {
  expect(errors(`%YAML 1.1\n---\n${head}inherit: no\nrules: []\n`)).toEqual([
    '7:10 inherit is "no"; expected true or false',
  ])
})

it('returns nothing for a text of comments', () => {
  expect(parsePolicies('# nothing yet\n---\n\n---\n', 'p.yaml')).toEqual({
    documents: [],
    tests: [],
    problems: [],
  })
})

function errorsOfNamespace(namespace: string, separators: readonly string[]): readonly string[] {
  return errors(`${head.replace('[a]', namespace)}rules: []\n`, createPolicyVocabulary({ separators }))
}

it('the separators of names are those of the catalogs', () => {
  expect(errorsOfNamespace("['a$b']", ['.'])).toEqual([])
  expect(errorsOfNamespace('[a.b]', ['$', '/'])).toEqual([])
  expect(errorsOfNamespace('[a.b]', ['.'])).toEqual([
    '4:13 namespace[0]: "a.b" contains ".", which separates names; expected ["a", "b"]',
  ])
})

it.each([
  [false, [expect.stringMatching(/^4:7 mode is development: /)]],
  [true, []],
])('mode: development, if the settings accept it: %s', (acceptsDevelopment, problems) => {
  const text = head.replace('namespace', 'mode: development\nnamespace') + 'rules: []\n'
  const vocabulary = createPolicyVocabulary({ acceptsDevelopment })
  expect(errors(text, vocabulary)).toEqual(problems)
  const { documents } = parsePolicies(text, 'p.yaml', vocabulary)
  if (acceptsDevelopment) expect(documents).toMatchObject([{ name: 'p', isShadow: false }])
})
