import { expect, it } from 'vitest'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'
import { builtInVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { assertDocuments, collectDocuments } from '../../../src/policy/source/document-problems.ts'
import { parsePolicyFile } from '../../../src/policy/source/load-policies.ts'

const head = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: NAME }
namespace: [crm]
`
const customers =
  'tags: { tables: { customers: { columns: { id: number, ssn: { type: text, tags: [pii] } } } } }'
const restrict = (rest: string): string => `restrict:\n  - { id: r, subjects: { any: true }, ${rest} }`
const deny = (when: string): string =>
  `rules:\n  - { id: d, effect: deny, subjects: { any: true }, operations: [drop], when: '${when}' }`

/** The errors of a folder with one file for each content, `a.yaml` and so on. */
function errorsOf(...contents: readonly string[]): readonly string[] {
  const files = contents.map((content, index) => {
    const name = 'abc'.charAt(index)
    return { name: `${name}.yaml`, bytes: Buffer.from(`${head.replace('NAME', name)}${content}\n`) }
  })
  try {
    const parsed = files.map((file) => parsePolicyFile(file, builtInVocabulary))
    runAtOnce(assertDocuments(collectDocuments(parsed)))
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

it.for<[what: string, contents: readonly string[], error: string]>([
  ['tags that are a list', ['tags: [pii]'], 'a.yaml:5:7: tags is a list; expected fields: namespace, tables'],
  ['columns beside tables', ['tags: { columns: { ssn: [pii] } }'], 'unknown field "tags.columns"'],
  ['no tag', ['tags: { namespace: [] }'], 'tags.namespace is empty; expected a list, such as [pii]'],
  ['a tag that is no word', ['tags: { namespace: ["p i"] }'], 'tags.namespace[0] is "p i"'],
  ['a pattern of tables', ['tags: { tables: { "c*": { tags: [pii] } } }'], 'tags.tables.c* contains "*"'],
  ['a name that no table has', ['tags: { tables: { "a$b": { tags: [x] } } }'], 'tags.tables.a$b'],
  [
    'a list of tags of a column',
    [customers.replace('number', '[pii]')],
    'customers.columns.id is a list; expected number or text',
  ],
  ['no type of a column', [customers.replace('type: text, ', '')], 'customers.columns.ssn.type is missing'],
  ['a type with a typo', [customers.replace('number', 'nummer')], 'did you mean "number"'],
  [
    'a struct and a part of it',
    [customers.replace('id: number', 'ssn.raw: text')],
    '"ssn.raw", a part of "ssn"',
  ],
  [
    'a namespace in two files',
    ['tags: { namespace: [a] }', 'tags: { namespace: [a] }'],
    'b.yaml:5:7: tags: duplicate tags of the namespace ["crm"], also in a.yaml:5',
  ],
  [
    'a tag in another spelling',
    [customers.replace('id: number', 'id: { type: number, tags: [Pii] }')],
    'a.yaml:5:19: tags: the tag "pii" differs from "Pii" by case; expected one spelling',
  ],
  [
    'a tag of a namespace in another spelling',
    ['tags: { namespace: [pii] }', customers.replace('[pii]', '[PII]')],
    'b.yaml:5:19: tags: the tag "PII" differs from "pii" by case; expected one spelling',
  ],
  [
    'a table in two files',
    [customers, customers],
    'b.yaml:5:19: tags: duplicate table ["crm","customers"], also in a.yaml:5',
  ],
  [
    'a restriction of a table with a typo',
    [customers, restrict('tables: [custmers], columns: { id: number }')],
    'b.yaml:6:5: the rule "r" denies the table "custmers", which "tags.tables" does not declare; did you mean "customers"? If both exist, declare "custmers: {}"',
  ],
  [
    'a deny of a table in another case',
    [customers, deny('true').replace('operations', 'tables: [Customers], operations')],
    'the rule "d" denies the table "Customers", which "tags.tables" does not declare; did you mean "customers"?',
  ],
  [
    'rows by a column with a typo',
    [customers, restrict('tables: [customers], columns: { id: number }, rows: snn is null')],
    'there is no column "snn"; did you mean "ssn"?',
  ],
  [
    'columns by type and by tag',
    [customers, restrict('tables: [customers], columns: { id: number, without: [pii] }')],
    'unknown field "restrict[0].columns.id"',
  ],
  [
    'columns without no tag',
    [customers, restrict('tables: [customers], columns: { without: [] }')],
    'columns.without is empty',
  ],
  [
    'columns without a tag with a typo',
    [customers, restrict('tables: [customers], columns: { without: [pi] }')],
    'b.yaml:6:5: the rule "r" names the tag "pi", which no policy declares',
  ],
  [
    'columns with a similar tag',
    [customers.replace('pii', 'personal'), restrict('tables: [customers], columns: { without: [persona] }')],
    'did you mean "personal"?',
  ],
  [
    'a table without declared columns',
    [customers, restrict('tables: [customers, orders], columns: { without: [pii] }')],
    '"tags.tables" of the namespace has no columns for "orders"',
  ],
  [
    'a pattern that no declared table matches',
    [customers, restrict('tables: ["o*"], columns: { without: [pii] }')],
    'has no columns for "o*"',
  ],
  [
    'a table of which nothing remains',
    [customers, 'tags: { namespace: [eu] }\n' + restrict('tables: [customers], columns: { without: [eu] }')],
    'leaves no column of "customers"',
  ],
  [
    'a declared type that differs',
    [customers, restrict('tables: [customers], columns: { id: text }')],
    'has id: text, but "tags.tables" says that this column of "customers" is number',
  ],
  [
    'rows that compare another type',
    [customers, restrict('tables: [customers], columns: { without: [pii] }, rows: "id = \'x\'"')],
    'has "rows" that do not fit the columns of "customers"',
  ],
  [
    'a condition on a tag with a typo',
    ['tags: { namespace: [secret] }', deny('"secert" in tags')],
    'the rule "d" names the tag "secert", which no policy declares; did you mean "secret"?',
  ],
  [
    'a condition on a tag without tags',
    [deny('"pii" in tags')],
    'expected one of those under "tags", where there is none',
  ],
  [
    'a condition on a tag of columns',
    [customers, deny('"pii" in tags')],
    'only columns have it, and tags are inherited downwards',
  ],
  [
    'another use of tags',
    [customers, deny('tags.size() > 0')],
    '"tags" is used in another way than "NAME" in tags',
  ],
  ['a tag that is no literal', [customers, deny('branch in tags')], '"tags" is used in another way'],
])('is refused: %s', ([, contents, error]) => {
  expect(errorsOf(...contents).join('\n')).toContain(error)
})

it.for<[what: string, contents: readonly string[]]>([
  ['a column named "without"', [restrict('tables: [t], columns: { without: text }')]],
  ['tags alone', [customers]],
  [
    'a pattern of which one table has nothing left',
    [
      'tags: { tables: { all: { tags: [pii], columns: { a: text } }, some: { columns: { a: text } } } }',
      restrict('tables: ["*"], columns: { without: [pii] }'),
    ],
  ],
  [
    'rows that fit',
    [
      customers,
      restrict('tables: [customers], columns: { without: [pii] }, rows: "ssn = \'x\' and other = 1"'),
    ],
  ],
  [
    'rows of many conditions',
    [
      customers,
      restrict(
        `tables: [customers], columns: { without: [pii] }, rows: "${Array.from({ length: 1_000 }, (_, n) => `id = ${n}`).join(' or ')}"`,
      ),
    ],
  ],
  [
    'rows by a list of the caller',
    [
      customers,
      restrict('tables: [customers], columns: { without: [pii] }, rows: "ssn in $principal.claims.ssns"'),
    ],
  ],
])('is accepted: %s', ([, contents]) => {
  expect(errorsOf(...contents)).toEqual([])
})
