import { expect, it } from 'vitest'
import type { KnownCredentials } from '../../src/policy/analysis/lint/lint-names.ts'
import { lintPolicies } from '../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { runAtOnce } from '../../src/lib/async/run-in-slices.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { assertDocuments, collectDocuments } from '../../src/policy/source/document-problems.ts'
import { parsePolicyFile } from '../../src/policy/source/load-policies.ts'
import { parsePolicies } from './parse-policies.ts'
import { readWrittenCases } from './written-cases.ts'

type Fields = Readonly<Record<string, string>>

const head = { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: '{ name: p }' }
const settings: KnownCredentials = {
  issuers: ['corp'],
  principals: new Set(['loader']),
  groups: new Set(['etl']),
}

/** The messages for an author: errors if there are any, otherwise errors and warnings of lint. */
function listMessages(text: string, known?: KnownCredentials): readonly string[] {
  const { documents, problems } = parsePolicies(text, 'p.yaml')
  if (problems.length > 0)
    return problems.map(({ line, column, message }) => `${line}:${column} error ${message}`)
  return lintPolicies(compilePolicies(documents), known).map(
    ({ line, column, level, check, message }) => `${line}:${column} ${level} ${check} ${message}`,
  )
}

/** Lines of fields; in a list of one item if they are indented. */
function formatFields(fields: Fields, indent = ''): string {
  const lines = Object.entries(fields).map(([name, value]) => `${indent}${name}: ${value}\n`)
  return lines.join('').replace(/^ {4}/, '  - ')
}

/** A document with these fields, and a list of one item if it has fields; a field without a value is omitted. */
function formatDocument(fields: Fields, list = '', item: Fields = {}): string {
  const present = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== 'omitted'))
  return (
    formatFields({ ...head, ...fields }) + (list === '' ? '' : `${list}:\n${formatFields(present, '    ')}`)
  )
}

const rule = { id: 'r', effect: 'allow', subjects: '{ groups: [etl] }', operations: '[read]' }

/** The documents of policy-mistakes.txt: the text of a case stands for a document, or for fields of it. */
const kinds: Readonly<Record<string, (text: string, fields: Fields) => string>> = {
  // The rule begins at line 6.
  rules: (_, fields) => formatDocument({ namespace: '[prod, sales]' }, 'rules', { ...rule, ...fields }),
  conditions: (text) =>
    formatDocument({ namespace: '[prod, sales]' }, 'rules', {
      ...rule,
      operations: '[DescribeTable, write]',
      when: JSON.stringify(text),
    }),
  restrictions: (_, fields) =>
    formatDocument({ namespace: '[prod, sales]' }, 'restrict', {
      id: 'r',
      subjects: '{ groups: [etl] }',
      tables: '[orders]',
      columns: '{ id: number, name: text }',
      ...fields,
    }),
  // A policy of the values `crm` and `hr`, whose rule begins at line 7.
  templates: (_, { metadata, forEach, namespace, ...fields }) =>
    formatDocument(
      {
        metadata: metadata ?? head.metadata,
        forEach: forEach ?? '{ team: [crm, hr] }',
        namespace: namespace ?? "['{team}']",
      },
      'rules',
      { ...rule, subjects: "{ groups: ['{team}-etl'] }", when: 'branch == "{team}"', ...fields },
    ),
  documents: (text) => {
    const namespace = text.startsWith('namespace:') ? '' : 'namespace: [prod, sales]\n'
    const rules = /^(rules|restrict):/m.test(text) ? '' : 'rules: []\n'
    return `${formatFields(head)}${namespace}${text}\n${rules}`
  },
  // The test begins at line 7.
  tests: (_, fields) =>
    formatDocument({ namespace: '[a]' }, 'tests', { table: '[a, t]', expect: 'deny', ...fields }),
}

const cases = readWrittenCases(new URL('policy-mistakes.txt', import.meta.url))

/** The errors of a folder with one file for each text, `a.yaml` and so on. */
function listErrors(texts: readonly string[]): readonly string[] {
  const files = texts.map((text, index) => {
    const name = 'abc'.charAt(index)
    const fields = formatFields({ ...head, metadata: `{ name: ${name} }`, namespace: '[crm]' })
    return parsePolicyFile(
      { name: `${name}.yaml`, bytes: Buffer.from(`${fields}${text}\n`) },
      builtInVocabulary,
    )
  })
  try {
    runAtOnce(assertDocuments(collectDocuments(files)))
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

const isOfFolder = ({ kind }: (typeof cases)[number]): boolean => kind === 'folders' || kind === 'declared'

/** In the file before those of a case of the kind `declared`. */
const declaration =
  'tags: { tables: { customers: { columns: { id: number, ssn: { type: text, tags: [pii] } } } } }'

it.each(cases.filter(isOfFolder))('$kind: $text', ({ kind, text, messages }) => {
  expect(listErrors([...(kind === 'declared' ? [declaration] : []), ...text.split('\n---\n')])).toEqual(
    messages,
  )
})

it('rows of many conditions fit the columns that are declared, and are like no other column', () => {
  const rows = Array.from({ length: 1_000 }, (_, number) => `id = ${number}`).join(' or ')
  const restriction = `{ id: r, subjects: { any: true }, tables: [customers], columns: { without: [pii] }, rows: "${rows}" }`
  expect(listErrors([declaration, `restrict: [${restriction}]`])).toEqual([])
  const ofTenant = kinds['restrictions']?.('', { rows: rows.replaceAll('id', 'tenant') }) ?? ''
  expect(listMessages(ofTenant).filter((message) => message.includes('rows'))).toEqual([])
})

it.each(cases.filter((each) => !isOfFolder(each)))('$kind: $text', ({ kind, text, messages }) => {
  const fields = Object.fromEntries(
    Array.from(text.matchAll(/^(\w+): ?(.*)$/gm), ([, name, value]) => [name, value]),
  )
  const document = kinds[kind]?.(text, fields) ?? ''
  expect(listMessages(document, kind === 'rules' ? settings : undefined)).toEqual(messages)
})

const ruleOf = (fields: Fields): string => kinds['rules']?.('', fields) ?? ''
const templateOf = (fields: Fields): string => kinds['templates']?.('', fields) ?? ''

const day = 86_400_000

it('says nothing about an end within a year, and a time that has passed since', () => {
  const [past, future] = [-day, day].map((ms) => new Date(Date.now() + ms).toISOString())
  expect(listMessages(ruleOf({ until: String(future) }), settings)).toEqual([])
  const when = JSON.stringify(`now >= timestamp("${past}") && branch == "main"`)
  expect(listMessages(ruleOf({ operations: '[DescribeTable, write]', when }), settings)).toEqual([])
})

it('the end counts as a part of the condition, which is bounded', () => {
  const when = `branch == "${'b'.repeat(1_988)}"`
  expect(listMessages(ruleOf({ until: '2027-01-31T10:00:00Z', when }))).toEqual([
    '10:12 error rules[0].until: with "when", the condition is 2046 characters long; expected at most 2000',
  ])
})

it('a finding for some values of forEach names them, and accepting it for one is enough', () => {
  const known = { issuers: [], principals: new Set<string>(), groups: new Set(['crm-etl']) }
  const finding = 'subject p[hr]/r names the group "hr-etl", which no API key has'
  expect(listMessages(templateOf({}), known)).toEqual([`7:5 warning ${finding} (team: hr)`])
  const accepting = templateOf({}).replace('- id: r', '- id: r # lint: ok subject later')
  expect(listMessages(accepting, known)).toEqual([`7:5 accepted ${finding}; accepted: later (team: hr)`])
})

it('values times rules are bounded', () => {
  const values = Array.from({ length: 2_000 }, (_, at) => `t${at}`).join(', ')
  const rules = Array.from({ length: 51 }, (_, at) => `  - id: r${at}\n`).join('')
  const text = templateOf({ forEach: `{ team: [${values}] }` }).replace(/rules:[^]*/, `rules:\n${rules}`)
  expect(listMessages(text)).toEqual([
    '4:10 error forEach.team has 2000 values for 51 rules and tests; expected at most 100000 together, in several policies',
  ])
})

it('a variable without forEach is an error', () => {
  expect(listMessages(templateOf({}).replace(/^forEach.*\n/m, ''))).toEqual([
    '4:13 error namespace[0] is "{team}", but the policy has no forEach; expected forEach: { team: [...] } with its values',
    '8:26 error rules[0].subjects.groups[0] is "{team}-etl", but the policy has no forEach; expected forEach: { team: [...] } with its values',
  ])
})

const ended = ruleOf({ until: '2026-01-01T00:00:00Z' })
const firstLine = '  - id: r'

it.each([
  ['on the rule', `${firstLine} # lint: ok until append only`, 6],
  ['above the rule', `  # lint: ok until append only\n${firstLine}`, 7],
  ['above other comments', `# lint: ok until append only\n  # of the loader\n\n${firstLine}`, 9],
])('a comment %s accepts a finding with a reason', (_where, lines, line) => {
  expect(listMessages(ended.replace(firstLine, lines))).toEqual([
    expect.stringMatching(new RegExp(`^${line}:5 accepted until p/r .*; accepted: append only$`)),
  ])
})

it.each([
  ['on another line', `${ended}# lint: ok until elsewhere\n`],
  ['of another check', ended.replace(firstLine, `${firstLine} # lint: ok subject later`)],
  ['without a reason', ended.replace(firstLine, `${firstLine} # lint: ok until`)],
])('a comment %s accepts nothing', (_where, text) => {
  expect(listMessages(text)).toEqual([expect.stringMatching(/^6:5 warning until /)])
})

it('an unknown field with the name of a member of every object is like any other', () => {
  expect(listMessages(`constructor: {}\n${ruleOf({})}`)).toEqual([
    expect.stringMatching(/^1:1 error unknown field "constructor"; the fields here are apiVersion, kind, /),
  ])
})
