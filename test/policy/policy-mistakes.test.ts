import { expect, it } from 'vitest'
import type { KnownCredentials } from '../../src/policy/analysis/lint/lint-names.ts'
import { lintPolicies } from '../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { parsePolicies } from './parse-policies.ts'

const head = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: [prod, sales]
`

const settings: KnownCredentials = {
  issuers: ['corp'],
  principals: new Set(['loader']),
  groups: new Set(['etl']),
}

/** What an author is told: errors if there are any, otherwise errors and warnings of lint. */
function listMessages(text: string, known?: KnownCredentials): readonly string[] {
  const { documents, problems } = parsePolicies(text, 'p.yaml')
  if (problems.length > 0)
    return problems.map(({ line, column, message }) => `${line}:${column} error ${message}`)
  return lintPolicies(compilePolicies(documents), known).map(
    ({ line, column, level, check, message }) => `${line}:${column} ${level} ${check} ${message}`,
  )
}

/** A document of one rule, whose lines begin at line 6. */
function documentOf(rule: Readonly<Record<string, string>>): string {
  const fields = { effect: 'allow', subjects: '{ groups: [etl] }', operations: '[read]', ...rule }
  const lines = Object.entries(fields).map(([name, value]) => `    ${name}: ${value}\n`)
  return `${head}rules:\n  - id: r\n${lines.join('')}`
}

const timestamp = 'write the time as timestamp("2027-01-01T00:00:00Z")'
const otherQuotes = `put the whole value in quotes of the other kind, such as '"reason" in context'`

const wrong: readonly (readonly [
  string,
  Readonly<Record<string, string>>,
  KnownCredentials | undefined,
  string,
])[] = [
  [
    'a group without the prefix of an issuer',
    { subjects: '{ groups: [analysts] }' },
    settings,
    '6:5 warning subject p/r names the group "analysts", which no API key has; with a token, it has the prefix of its issuer: did you mean "corp:analysts"?',
  ],
  [
    'a group in an exception without the prefix',
    { effect: 'deny', subjects: '{ everyone: true, except: { groups: [analysts] } }' },
    settings,
    '6:5 warning subject p/r names the group "analysts", which no API key has; with a token, it has the prefix of its issuer: did you mean "corp:analysts"?',
  ],
  [
    'a user without the prefix of an issuer',
    { subjects: '{ users: [ada] }' },
    settings,
    '6:5 warning subject p/r names the user "ada", which no API key has; with a token, it has the prefix of its issuer: did you mean "corp:ada"?',
  ],
  [
    'a wrong prefix',
    { subjects: '{ groups: ["crop:analysts"] }' },
    settings,
    '6:5 warning subject p/r names the group "crop:analysts", but no API key has it, and "crop" is no issuer; did you mean "corp"?',
  ],
  [
    'a regular expression with anchors',
    { tables: '["^sales_.*$"]' },
    undefined,
    '10:14 error rules[0].tables[0]: "^sales_.*$" looks like a regular expression, but only "*" is special; did you mean "sales_*"?',
  ],
  [
    'a regular expression with one anchor',
    { tables: '["^sales_.*"]' },
    undefined,
    '6:5 warning pattern p/r names tables by a pattern: "^sales_.*" looks like a regular expression, but only "*" is special; did you mean "sales_*"?',
  ],
  [
    'a class of characters',
    { tables: '["sales_[0-9]+"]' },
    undefined,
    '6:5 warning pattern p/r names tables by a pattern: "sales_[0-9]+" looks like a regular expression, but only "*" is special; did you mean "sales_*"?',
  ],
  [
    '= for ==',
    { when: `branch = "main"` },
    undefined,
    '10:18 error rules[0].when: unexpected character: =; did you mean "=="?',
  ],
  [
    'a text without quotes',
    { when: 'branch == main' },
    undefined,
    '10:21 error rules[0].when: unknown variable: main; a text has quotes, such as "main"',
  ],
  [
    'quotes of a word processor',
    { when: 'branch == “main”' },
    undefined,
    '10:21 error rules[0].when: unexpected character: “; a text has straight quotes, such as "main"',
  ],
  [
    'a text for a list',
    { when: `branch in "main"` },
    undefined,
    '10:11 error rules[0].when: no such overload: string in string; expected a list after "in", such as ["main", "dev"]',
  ],
  [
    'an id as a text',
    { when: `id == "prod/sales/orders"` },
    undefined,
    '10:11 error rules[0].when: no such overload: list<string> == string; expected a list, such as ["prod", "sales"]',
  ],
  [
    'a pattern that is compared',
    { when: `branch == "ci/*"` },
    undefined,
    '6:5 warning pattern p/r has a condition with a mistaken pattern: "*" in "ci/*" is an ordinary character for "=="; for any characters, write like("ci/*")',
  ],
  [
    'a pattern in a list',
    { when: `branch in ["main", "ci/*"]` },
    undefined,
    '6:5 warning pattern p/r has a condition with a mistaken pattern: "*" in "ci/*" is an ordinary character for "in"; for any characters, write like("ci/*")',
  ],
  [
    'a pattern as a prefix',
    { when: `'!branch.startsWith("ci/*")'` },
    undefined,
    '6:5 warning pattern p/r has a condition with a mistaken pattern: "*" in "ci/*" is an ordinary character for "startsWith"; for any characters, write like("ci/*")',
  ],
  [
    'a regular expression for a branch',
    { when: `branch.like("ci/.*")` },
    undefined,
    '6:5 warning pattern p/r has a condition with a mistaken pattern: in "like", "ci/.*" looks like a regular expression, but only "*" is special; did you mean "ci/*"?',
  ],
  [
    'a pattern for a folder',
    { operations: '[commit]', when: `manifestPath.isUnder("lake/*")` },
    undefined,
    '10:32 error rules[0].when: "lake/*" has a "*"; a folder includes everything beneath it, and is no pattern',
  ],
  [
    'swapped letters of an operation',
    { operations: '[wirte]' },
    undefined,
    '9:18 error rules[0].operations[0]: unknown operation or group "wirte"; did you mean "write"?',
  ],
  [
    '& for &&',
    { when: `branch == "a" & true` },
    undefined,
    '10:25 error rules[0].when: unexpected character: &; did you mean "&&"?',
  ],
  [
    'a text for a time',
    { when: `'now < "2027-01-01"'` },
    undefined,
    `10:12 error rules[0].when: no such overload: google.protobuf.Timestamp < string; ${timestamp}`,
  ],
  [
    'a text for a time, before it',
    { when: `'"2027-01-01" > now'` },
    undefined,
    `10:12 error rules[0].when: no such overload: string > google.protobuf.Timestamp; ${timestamp}`,
  ],
  [
    'a condition that begins with a quote',
    { when: `"reason" in context && true` },
    undefined,
    `10:20 error Unexpected scalar at node end; ${otherQuotes}`,
  ],
  [
    'an operation without a word of its name',
    { operations: '[InsertTable]' },
    undefined,
    '9:18 error rules[0].operations[0]: unknown operation or group "InsertTable"; did you mean "InsertIntoTable"?',
  ],
  [
    'not for !',
    { when: `not(branch == "a")` },
    undefined,
    '10:11 error rules[0].when: unknown function "not"; did you mean "!"?',
  ],
  [
    'an end without a time',
    { until: '2027-01-31' },
    undefined,
    '10:12 error rules[0].until is "2027-01-31": it has no time and no zone; expected for example 2027-01-31T00:00:00Z',
  ],
  [
    'an end without a zone',
    { until: '2027-01-31T10:00:00' },
    undefined,
    '10:12 error rules[0].until is "2027-01-31T10:00:00": it has no zone; expected for example 2027-01-31T10:00:00Z or 2027-01-31T10:00:00+01:00',
  ],
  [
    'the end under another name',
    { expires: '2027-01-31T10:00:00Z' },
    undefined,
    '10:5 error unknown field "rules[0].expires"; did you mean "until"?',
  ],
  [
    'the end of a deny',
    { effect: 'deny', until: '2027-01-31T10:00:00Z' },
    undefined,
    '10:12 error rules[0].until is allowed only with effect: allow; a deny may have "when: now < timestamp(…)"',
  ],
  [
    'an end beside a condition that is as long as possible',
    { until: '2027-01-31T10:00:00Z', when: `branch == "${'b'.repeat(1_988)}"` },
    undefined,
    '10:12 error rules[0].until: with "when", the condition is 2046 characters long; expected at most 2000',
  ],
  [
    'a rule that has ended',
    { until: '2026-01-01T00:00:00Z' },
    undefined,
    '6:5 warning until p/r ended at 2026-01-01T00:00:00Z and allows nothing any more; remove it, or choose another end',
  ],
  [
    'an end that nobody will think of',
    { until: '2999-01-01T00:00:00Z' },
    undefined,
    '6:5 warning until p/r ends at 2999-01-01T00:00:00Z, in more than 366 days; choose an earlier end, or remove "until" if the grant is permanent',
  ],
]

it.each(wrong)('says what is wrong with %s', (_, rule, known, message) => {
  expect(listMessages(documentOf(rule), known)).toEqual([message])
})

it.each<[string, Record<string, string>]>([
  ['names of keys and of an issuer', { subjects: '{ groups: [etl, "corp:analysts"], users: [loader] }' }],
  ['patterns and names with dots', { tables: '["evt_*", "v1.2", "a+b"]' }],
  ['an end within a year', { until: new Date(Date.now() + 86_400_000).toISOString() }],
  ['a pattern of branches', { when: `branch.like("ci/*") || branch in ["main"]` }],
])('says nothing about %s', (_, rule) => {
  expect(listMessages(documentOf(rule), settings)).toEqual([])
})

const allowRead = '{ id: read, effect: allow, subjects: { groups: [etl] }, operations: [read] }'

it.each<[mistake: string, condition: string, message: string]>([
  [
    'a month that there is not',
    'now.getMonth() == 12',
    'now.getMonth() == 12 is never true in the next 366 days; getMonth counts from 0',
  ],
  [
    'a day of the week that there is not',
    'now.getDayOfWeek() in [6, 7]',
    'now.getDayOfWeek() in [7] is never true in the next 366 days',
  ],
  [
    'swapped hours',
    'branch == "main" || now.getHours() >= 18 && now.getHours() < 8',
    'now.getHours() >= 18 && now.getHours() < 8 is never true in the next 366 days',
  ],
  [
    'a time in the past',
    'branch == "main" || now < timestamp("2025-01-01T00:00:00Z")',
    'now < timestamp("2025-01-01T00:00:00Z") is never true in the next 366 days',
  ],
  [
    'a time far away',
    'branch == "main" && now < timestamp("2972-01-01T00:00:00Z")',
    'now < timestamp("2972-01-01T00:00:00Z") is always true in the next 366 days',
  ],
  ['a context key in upper case', '"Reason" in context', '"Reason" in context is never true'],
  [
    'the name of a header as context key',
    '"x-catalog-ctx-reason" in context',
    '"x-catalog-ctx-reason" in context is never true',
  ],
  ['the main branch in upper case', 'branch == "Main"', 'branch == "Main" is never true'],
  ['a mode that no operation has', 'mode == "apend" || branch == "x"', 'mode == "apend" is never true'],
  [
    'a claim that a caller may not have',
    'principal.claims.region == "eu"',
    'fails for callers without the claim "region"; begin with has(principal.claims.region) &&',
  ],
])('finds a part of a condition with %s', (_, condition, message) => {
  const rule = { operations: '[DescribeTable, write]', when: JSON.stringify(condition) }
  expect(listMessages(documentOf(rule))).toEqual([
    `6:5 warning effect p/r has a condition of which ${message}`,
  ])
})

it.each([
  'has(principal.claims.region) && principal.claims.region == "eu"',
  '"region" in principal.claims && principal.claims["region"] == "eu"',
  'now >= timestamp("2027-01-01T10:00:00Z") && now < timestamp("2027-01-01T10:00:02Z")',
  'now.getHours("Europe/Berlin") == 3 && now.getMinutes() == 59',
  'mode == "append" && "ticket" in context && context["ticket"].startsWith("OPS-")',
  `now >= timestamp("${new Date(Date.now() - 86_400_000).toISOString()}") && branch == "main"`,
  'size(context) == 0 || context.exists(key, key == "Reason")',
  'branch.startsWith("ci/") && !branch.endsWith("/x")',
])('finds nothing in the condition %s', (condition) => {
  const rule = { operations: '[DescribeTable, write]', when: JSON.stringify(condition) }
  expect(listMessages(documentOf(rule))).toEqual([])
})

it.each<[what: string, document: string, message: string]>([
  [
    'a restriction of callers that no rule allows to read',
    `restrict: [{ id: r, subjects: { groups: [elt] }, tables: [orders], columns: { id: number } }]\nrules: [${allowRead}]\n`,
    '5:12 warning effect p/r restricts callers that no rule allows to read these tables: their names may be misspelt',
  ],
  [
    'an exception for callers that no rule allows anything',
    `rules: [${allowRead}, { id: d, effect: deny, subjects: { everyone: true, except: { groups: [elt] } }, operations: [all], tables: [pay] }]\n`,
    '5:87 warning effect p/d excepts callers that no rule allows what it denies, so nobody may do it',
  ],
  [
    'a policy in shadow mode',
    `mode: shadow\nrules: [${allowRead}]\n`,
    '3:19 info effect p is evaluated, but not in force: mode: shadow',
  ],
])('finds %s', (_, document, message) => {
  expect(listMessages(head + document)).toEqual([message])
})

const tagged =
  'tags: { tables: { customers: { columns: { id: number, ssn: { type: text, tags: [pii] } } } } }\n'
const groupRule = (id: string, effect: string, group: string, rest: string): string =>
  `{ id: ${id}, effect: ${effect}, subjects: { groups: [${group}] }, ${rest} }`
const otherNamespace = (namespace: string): string =>
  `---\n${head.replace('name: p', 'name: q').replace('sales', namespace)}rules: [${allowRead}]\n`

it.each<[what: string, document: string, ...messages: readonly string[]]>([
  [
    'a restriction of everybody but all that may read',
    `restrict: [{ id: r, subjects: { any: true, except: { groups: [etl] } }, tables: [t], columns: { id: number } }]\nrules: [${allowRead}]\n`,
    '5:12 warning effect p/r restricts callers that no rule allows to read these tables: all that may are excepted',
  ],
  [
    'a deny of a group that is almost another one',
    `rules: [${groupRule('a', 'allow', 'engineers', 'operations: [read]')}, ${groupRule('d', 'deny', 'enginers', 'operations: [query]')}]\n`,
    '5:90 info effect p/d denies callers what no rule allows them: their names may be misspelt',
    '5:90 warning name p/d names the group "enginers", which is almost "engineers"; one of them may be misspelt',
  ],
  [
    'a namespace that is almost another one',
    `rules: [${allowRead}]\n${otherNamespace('slaes')}`,
    '9:19 info name q names the namespace "slaes", which is almost "sales"; one of them may be misspelt',
  ],
  ['namespaces that differ in a number', `rules: []\n${otherNamespace('sales2')}`],
  [
    'tables that are not declared',
    `${tagged}rules: [${allowRead}, ${groupRule('d', 'deny', 'etl', 'operations: [query], tables: [orders, "x_*"]')}, ${groupRule('a', 'allow', 'etl', 'operations: [DropTable], tables: [custmers]')}]\n`,
    '6:87 info name p/d denies tables that "tags.tables" does not declare: orders',
    '6:187 info name p/a names the table "custmers", which is almost "customers"; one of them may be misspelt',
  ],
  [
    'grants that clients cannot use',
    `rules: [${groupRule('w', 'allow', 'etl', 'operations: [write]')}]\n`,
    '5:9 info grant p/w needs another rule that allows DescribeTable, with which clients open a table',
  ],
  [
    'an allow that a deny cancels',
    `rules: [${allowRead}, ${groupRule('d', 'deny', 'etl', 'operations: [all]')}]\n`,
    '5:9 error unreachable p/read can never allow anything: denied by p/d (p.yaml:5)',
  ],
  [
    'an allow of what is final above',
    `final: [drop]\nrules: []\n---\n${head.replace('name: p', 'name: q').replace('sales', 'sales, eu')}rules: [${groupRule('r', 'allow', 'etl', 'operations: [read, drop]')}]\n`,
    '12:9 info unreachable q/r never allows drop: final in p (p.yaml:3)',
  ],
  [
    'a mode that clients do not state',
    `rules: [${allowRead}, ${groupRule('w', 'allow', 'etl', `operations: [InsertIntoTable], when: 'mode == "append"'`)}]\n`,
    '5:87 warning fact p/w has a condition that differs for the mode "append" and for none, which means the same',
  ],
])('says of a document what there is to say about %s', (_, document, ...messages) => {
  expect(listMessages(head + document)).toEqual(messages)
})

it.each(['any', 'everyone'])('finds nothing in a restriction of %s but some', (subject) => {
  const subjects = `{ ${subject}: true, except: { groups: [office] } }`
  const restriction = `{ id: r, subjects: ${subjects}, tables: [orders], columns: { id: number } }`
  expect(listMessages(`${head}restrict: [${restriction}]\nrules: [${allowRead}]\n`)).toEqual([])
})

it('finds what inherit: false ends', () => {
  const above = `apiVersion: catalog-gateway/v1\nkind: AccessPolicy\nmetadata: { name: root }\nnamespace: []\nrules: [${allowRead}]\n---\n`
  expect(listMessages(`${above}${head}inherit: false\nrules: [${allowRead}]\n`)).toEqual([
    '9:19 info effect p ends what is allowed from above (inherit: false): root/read',
  ])
})

/** A document of one restriction, whose lines begin at line 6. */
function restrictionOf(fields: Readonly<Record<string, string>>): string {
  const all = {
    subjects: '{ groups: [etl] }',
    tables: '[orders]',
    columns: '{ id: number, name: text }',
    ...fields,
  }
  const lines = Object.entries(all).map(([name, value]) => (value === '' ? '' : `    ${name}: ${value}\n`))
  return `${head}restrict:\n  - id: r\n${lines.join('')}`
}

it.each<[string, Record<string, string>, message: string]>([
  [
    'no columns',
    { columns: '' },
    '6:5 error restrict[0].columns is missing; expected a map of columns, such as { id: number, name: text }',
  ],
  [
    'a list of columns',
    { columns: '[id]' },
    '9:14 error restrict[0].columns is a list; expected a map of columns, such as { id: number, name: text }',
  ],
  [
    'an unknown type',
    { columns: '{ id: numbr }' },
    '9:20 error restrict[0].columns.id is "numbr"; expected number or text or boolean or date or timestamp or texts or numbers or other; did you mean "number"?',
  ],
  [
    'a column and a part of it',
    { columns: '{ person: other, person.city: text }' },
    '9:31 error restrict[0].columns has "person.city", a part of "person"; expected one of them',
  ],
  [
    'a function that can fail',
    { rows: 'sqrt(id) > 1' },
    '10:11 error restrict[0].rows: the function sqrt is not supported; expected one of lower, upper, length, char_length, starts_with, ends_with, contains, array_has',
  ],
  [
    'a text for a number',
    { rows: `id = '1'` },
    '10:16 error restrict[0].rows: a column of the type number cannot be compared with a text here',
  ],
  [
    'quotes of another language',
    { rows: `'name = "a"'` },
    `10:19 error restrict[0].rows: "\\"" is not supported here; a text has single quotes, such as 'EU'`,
  ],
  [
    'an unknown fact of the caller',
    { rows: 'region = $principal.region' },
    '10:20 error restrict[0].rows: $principal.region is unknown; expected $principal.name, $principal.groups or $principal.claims.NAME',
  ],
  [
    'a condition of CEL',
    { rows: 'region == "EU"' },
    `10:21 error restrict[0].rows: "\\"" is not supported here; a text has single quotes, such as 'EU'`,
  ],
  [
    'an effect',
    { effect: 'allow' },
    '10:5 error unknown field "restrict[0].effect"; the fields here are id, subjects, tables, columns, rows',
  ],
])('says what is wrong with a restriction that has %s', (_, fields, message) => {
  expect(listMessages(restrictionOf(fields))[0]).toEqual(message)
})

/** A policy of the values `crm` and `hr`, whose rule begins at line 7. */
function templateOf(fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries({
    metadata: '{ name: p }',
    forEach: '{ team: [crm, hr] }',
    namespace: "['{team}']",
    subjects: "{ groups: ['{team}-etl'] }",
    operations: '[read]',
    when: 'branch == "{team}"',
    ...fields,
  }).map(([name, value], index) => `${index < 3 ? '' : '    '}${name}: ${value}\n`)
  const [top, rule] = [lines.slice(0, 3), lines.slice(3)]
  return `apiVersion: catalog-gateway/v1\nkind: AccessPolicy\n${top.join('')}rules:\n  - id: r\n    effect: allow\n${rule.join('')}`
}

it.each<[string, Readonly<Record<string, string>>, ...messages: readonly string[]]>([
  ['nothing', {}],
  [
    'a variable of another language',
    { subjects: "{ groups: ['${team}-etl'] }" },
    '9:26 error "${team}" is not the variable of forEach; expected "{team}"',
  ],
  ['braces that are no variable', { when: `'branch == "{team}{}{1}" && size({"a": {}}) == 1'` }],
  [
    'a variable without quotes',
    { namespace: '[{team}]' },
    "5:13 error namespace[0] is a map; expected text: put it in quotes, '{team}'",
  ],
  [
    'a text with a variable without quotes',
    { subjects: '{ groups: [{team}-etl] }' },
    "9:32 error Unexpected scalar at node end; put the whole text in quotes, such as '{team}-writers'",
  ],
  [
    'a misspelt variable',
    { namespace: "['{team}', '{taem}']" },
    '5:23 error "{taem}" is not the variable of forEach; expected "{team}"',
  ],
  [
    'a variable as in other languages',
    { subjects: "{ groups: ['{{ team }}-etl'] }" },
    '9:26 error "{{ team }}" is not the variable of forEach; expected "{team}"',
  ],
  [
    'a variable that is not in the namespace',
    { namespace: '[crm]' },
    `4:10 error forEach.team: "{team}" is not in "namespace", so all values would have the same one; expected it there, such as namespace: ['{team}']`,
  ],
  [
    'a list without a variable',
    { forEach: '[crm, hr]' },
    '4:10 error forEach is a list; expected one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }',
  ],
  [
    'two variables',
    { forEach: '{ team: [crm], region: [eu] }' },
    '4:10 error forEach has "team", "region"; expected one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }',
  ],
  [
    'values that are no names',
    { forEach: '{ team: [crm, "a/b", "..", "x\\"", crm] }' },
    '4:24 error forEach.team[1] is "a/b"; expected 1 to 128 letters, digits or any of . _ -',
    '4:31 error forEach.team[2] is ".."; expected 1 to 128 letters, digits or any of . _ -',
    '4:37 error forEach.team[3] is "x\\""; expected 1 to 128 letters, digits or any of . _ -',
    '4:44 error forEach.team[4]: duplicate value "crm"',
  ],
  [
    'no value',
    { forEach: '{ team: [] }' },
    '4:18 error forEach.team is empty; expected a list, such as [crm, billing]',
  ],
  [
    'an error of all values',
    { subjects: "{ groups: ['{team}-*'] }", operations: '[raed]' },
    '9:26 error rules[0].subjects.groups[0] contains "*"; names are exact; use "any: true" for every caller',
    '10:18 error rules[0].operations[0]: unknown operation or group "raed"; did you mean "read"?',
  ],
  [
    'an error of all values that has the value',
    { namespace: "['{team}/x']" },
    '5:13 error namespace[0]: "{team}/x" contains "/", which separates names; expected ["{team}", "x"]',
  ],
  [
    'an error of one value',
    { forEach: '{ team: ["2027-01-01", hr] }', when: 'now < timestamp("{team}T00:00:00Z")' },
    '11:27 error rules[0].when: "hrT00:00:00Z" is not a timestamp: expected a time with zone (RFC 3339) such as 2027-01-31T10:00:00Z (team: hr)',
  ],
  [
    'an error behind a variable',
    { when: `branch == "{team}" && brunch == "{team}"` },
    '11:33 error rules[0].when: unknown variable: brunch; did you mean "branch"?',
  ],
  [
    'a finding for all values',
    { when: 'branch == "{team}/*"' },
    '7:5 warning pattern p[{team}]/r has a condition with a mistaken pattern: "*" in "{team}/*" is an ordinary character for "=="; for any characters, write like("{team}/*")',
  ],
])('one policy for many teams: %s', (_, fields, ...messages) => {
  expect(listMessages(templateOf(fields))).toEqual(messages)
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

const ended = documentOf({ until: '2026-01-01T00:00:00Z' })
const rule = '  - id: r'

it.each([
  ['on the rule', `${rule} # lint: ok until append only`, 6],
  ['above the rule', `  # lint: ok until append only\n${rule}`, 7],
  ['above other comments', `# lint: ok until append only\n  # of the loader\n\n${rule}`, 9],
])('a comment %s accepts a finding with a reason', (_where, lines, line) => {
  expect(listMessages(ended.replace(rule, lines))).toEqual([
    expect.stringMatching(new RegExp(`^${line}:5 accepted until p/r .*; accepted: append only$`)),
  ])
})

it('a comment that accepts nothing is a finding', () => {
  const unused = 'accepts a finding of the check "until" about line'
  expect(listMessages(`${ended}# lint: ok until elsewhere\n`)).toEqual([
    expect.stringMatching(/^6:5 warning until /),
    `11:1 warning accept ${unused} 11, but there is none; remove the comment`,
  ])
  expect(listMessages(ended.replace(rule, `${rule} # lint: ok subject later`))).toEqual([
    expect.stringMatching(/^6:5 warning until /),
    '6:11 warning accept accepts a finding of the check "subject" about line 6, but there is none; remove the comment',
  ])
  // Without a reason it is any comment.
  expect(listMessages(ended.replace(rule, `${rule} # lint: ok until`))).toEqual([
    expect.stringMatching(/^6:5 warning until /),
  ])
})

it('an unknown field with the name of a member of every object is like any other', () => {
  expect(listMessages(`constructor: {}\n${documentOf({})}`)).toEqual([
    expect.stringMatching(/^1:1 error unknown field "constructor"; the fields here are apiVersion, kind, /),
  ])
})
