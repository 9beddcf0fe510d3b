import { permissionGroups } from '../../../src/catalog-api/permissions.ts'
import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'

const head = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: [a]
`

function errors(text: string): string[] {
  return parsePolicies(text, 'p.yaml').problems.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  )
}

/** Error messages, without positions, of a rule with one field replaced. */
function errorsOfRule(field: string, value: string): string[] {
  const fields = { id: 'r', effect: 'allow', subjects: '{ any: true }', operations: '[read]', [field]: value }
  const rule = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return errors(`${head}rules:\n  - { ${rule.join(', ')} }\n`).map((error) => error.replace(/^\S+ /, ''))
}

it('reports every error in a list: items that are not text, and invalid texts', () => {
  expect(errorsOfRule('subjects', '{ users: [7, "a*", alice, [b], ""] }')).toEqual([
    'rules[0].subjects.users[0] is 7; expected text: put it in quotes',
    'rules[0].subjects.users[1] contains "*"; names are exact; use "any: true" for every caller',
    'rules[0].subjects.users[3] is a list; expected text',
    'rules[0].subjects.users[4] is "", which is not a valid name',
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
  expect(documents).toEqual([
    {
      name: 'p',
      isShadow: false,
      namespace: ['a'],
      inherit: false,
      final: new Set(),
      onDeny: undefined,
      contact: undefined,
      tags: undefined,
      accepted: [],
      rules: [
        {
          id: 'r',
          effect: 'deny',
          subjects: {
            users: ['corp:alice'],
            groups: ['g'],
            keys: [],
            any: false,
            anonymous: false,
            except: undefined,
          },
          permissions: new Set([
            'QueryTable',
            'CountTableRows',
            'FetchTableBlobs',
            'GetTableBlob',
            'ExplainTableQueryPlan',
            'AnalyzeTableQueryPlan',
            'DiffTableBranches',
            'DropTable',
            'RenameTable',
            'DeregisterTable',
            'RestoreTable',
            'CreateTableBranch',
            'CherryPickTableBranch',
            'DropMaterializedView',
            'DropView',
          ]),
          implied: new Map([
            ['RenameTable', 'name'],
            ['DeregisterTable', 'name'],
            ['RestoreTable', 'move'],
            ['CreateTableBranch', 'move'],
            ['CherryPickTableBranch', 'move'],
            ['DropMaterializedView', 'name'],
            ['DropView', 'name'],
          ]),
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
metadata: { name: 'a b', labels: {} }
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
    '3:26 unknown field "metadata.labels"; it needs apiVersion: catalog-gateway.dev/v1',
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

const expectedOperations = `; expected operations such as InsertIntoTable, or the groups ${[...permissionGroups.keys()].join(', ')}`

it.each([
  ['id', '1', 'rules[0].id is 1; expected text: put it in quotes'],
  ['id', 'a/b', 'rules[0].id is "a/b"; expected 1 to 128 letters, digits or any of . _ -'],
  ['effect', '', 'rules[0].effect is empty; expected allow or deny'],
  ['subjects', '{}', 'rules[0].subjects names no subject; expected users, groups or "any: true"'],
  ['subjects', '{ any: false }', 'rules[0].subjects.any is false; expected true'],
  ['subjects', '{ anonymous: false }', 'rules[0].subjects.anonymous is false; expected true'],
  ['subjects', '{ users }', 'rules[0].subjects.users is empty; expected a list, such as [alice, "corp:bob"]'],
  [
    'subjects',
    '{ users: [] }',
    'rules[0].subjects.users is empty; expected a list, such as [alice, "corp:bob"]',
  ],
  [
    'subjects',
    '{ groups: ["*"] }',
    'rules[0].subjects.groups[0] contains "*"; names are exact; use "any: true" for every caller',
  ],
  ['subjects', '{ users: [""] }', 'rules[0].subjects.users[0] is "", which is not a valid name'],
  ['operations', '[]', 'rules[0].operations is empty; expected a list, such as [read, InsertIntoTable]'],
  ['operations', '[Red]', 'rules[0].operations[0]: unknown operation or group "Red"; did you mean "read"?'],
  ['operations', '[Fly]', `rules[0].operations[0]: unknown operation or group "Fly"${expectedOperations}`],
  [
    'operations',
    '[constructor]',
    `rules[0].operations[0]: unknown operation or group "constructor"${expectedOperations}`,
  ],
  ['tables', '[]', 'rules[0].tables is empty; expected a list, such as [orders, "evt_*"]'],
  [
    'tables',
    '[a/b]',
    'rules[0].tables[0]: "a/b" contains "/", which separates names; expected the name alone: the namespace is that of ' +
      'the policy',
  ],
  ['tables', '[2024]', 'rules[0].tables[0] is 2024; expected text: put it in quotes'],
  [
    'tables',
    '["**"]',
    'rules[0].tables[0] contains "**"; omit "tables" for everything beneath the namespace',
  ],
  [
    'subjects',
    '{ except: { users: [a] } }',
    'rules[0].subjects names no subject; expected users, groups or "any: true"',
  ],
  [
    'subjects',
    '{ any: true, except: {} }',
    'rules[0].subjects.except names no subject; expected users or groups',
  ],

  [
    'subjects',
    '{ serviceAccounts: [etl/loader] }',
    'rules[0].subjects.serviceAccounts[0] is "etl/loader"; expected issuer:namespace/name',
  ],
  ['verbs', '[read]', 'unknown field "rules[0].verbs"; did you mean "operations"?'],
  [
    'final',
    'true',
    'unknown field "rules[0].final"; a deny always wins, and "final" is a field of the document, next to "rules"' +
      ': the operations that child policies cannot allow',
  ],
  ['when', 'true', 'rules[0].when is true; expected text: put it in quotes'],
])('rejects a rule with %s: %s', (field, value, error) => {
  expect(errorsOfRule(field, value)).toEqual([error])
})

it('rejects tables with operations that do not apply to tables', () => {
  const rule = '{ id: r, effect: deny, subjects: { any: true }, operations: [ListTables], tables: [x] }'
  expect(errors(`${head}rules:\n  - ${rule}\n`)).toEqual([
    '6:87 rules[0].tables has no effect: none of the operations applies to a table',
  ])
})

it.each([
  [
    '[prod/sales]',
    '4:13 namespace[0]: "prod/sales" contains "/", which separates names; expected ["prod", "sales"]',
  ],
  [
    '["*"]',
    `4:13 namespace[0] contains "*"; namespaces must be named exactly; for several, list their names: forEach: { team: [crm, billing] } with namespace: ['{team}']`,
  ],
  ['[a, 1]', '4:16 namespace[1] is 1; expected text: put it in quotes'],
  ['[a, ..]', '4:16 namespace[1] is "..", which is a path segment, not a name'],
  ['', '4:12 namespace is empty; expected a list, such as [prod, sales]'],
])('namespace: %s', (value, error) => {
  expect(errors(`${head.replace('[a]', value)}rules: []\n`)).toEqual([error])
})

it.each([
  ['rules: []\nrules: []', '6:1 duplicate key "rules"'],
  ["tags: { tables: { 1: { tags: [pii] }, '1': { tags: [other] } } }", '5:39 duplicate key "1"'],
  [
    'tests: [{ operations: [read], namespace: [], expect: deny, expect: allow }]\nrules: []',
    '5:60 duplicate key "expect"',
  ],
])('rejects a repeated key even if it is the only error: %s', (fields, error) => {
  expect(errors(`${head}${fields}\n`)).toEqual([error])
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
    '36:8 rules is an alias; aliases are not supported',
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

it.each([
  [
    'tests: [{ as: { anonymous: true, user: al }, operations: [read], namespace: [], expect: deny }]',
    '5:15 tests[0].as must not describe an anonymous caller further',
  ],
  [
    'tests: [{ operations: [read], namespace: [], expect: deny, given: *x }]',
    '5:67 tests[0].given is an alias; aliases are not supported',
  ],
  [
    'tests: [{ operations: [read], namespace: [], expect: deny, as: { claims: { a: [*x] } } }]',
    '5:80 tests[0].as.claims.a[0] is an alias; aliases are not supported',
  ],
  ['tags: { tables: { __proto__: { columns: { a: text } } } }', '5:19 the key "__proto__" is not supported'],
  ['onDeny: 401', '5:9 onDeny is 401; expected 403 or 404'],
  ['contact: " "', '5:10 contact is " "; expected one line of 1 to 200 characters'],
  ['contact: "a\\nb"', '5:10 contact is "a\\nb"; expected one line of 1 to 200 characters'],
  ['final: [drp]', '5:9 final[0]: unknown operation or group "drp"; did you mean "drop"?'],
  ['commits: {}', '5:10 commits requires nothing; expected folders, metadata, or both'],
  [
    'commits: { except: { users: [al] } }',
    '5:10 commits requires nothing; expected folders, metadata, or both',
  ],
  ['commits: { foldres: [a] }', '5:12 unknown field "commits.foldres"; did you mean "folders"?'],
  [
    'commits: { folders: [a/../b] }',
    '5:22 commits.folders[0]: "a/../b" is not a folder; expected for example "s3://bucket/team" or ' +
      '"warehouse/team"',
  ],
  [
    'commits: { metadata: [a] }\nrules: [{ id: commits.metadata, effect: deny, subjects: { any: true }, operations: [all] }]',
    '6:9 rules[0]: duplicate rule id "commits.metadata", also in line 5',
  ],
])('rejects a policy with %s', (fields, error) => {
  expect(errors(`${head}${fields}\n${fields.includes('rules:') ? '' : 'rules: []\n'}`)).toEqual([error])
})
