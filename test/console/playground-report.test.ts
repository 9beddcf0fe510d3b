import { expect, it } from 'vitest'
import { createPlaygroundReport, type Trial } from '../../src/console/playground-report.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { parsePolicyFile } from '../../src/policy/source/load-policies.ts'

const policy = (name: string, rest: string): string => `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: ${name} }
namespace: [crm]
${rest}`
const declares = (tag: string): string => policy('tags', `tags: { namespace: [${tag}] }\n`)
const names = (...tags: readonly string[]): string =>
  policy(
    'other',
    `rules:\n${tags.map((tag) => `  - { id: ${tag}, effect: deny, subjects: { any: true }, operations: [drop], when: '"${tag}" in tags' }\n`).join('')}`,
  )
const reads = policy(
  'tried',
  'rules:\n  - { id: r, effect: allow, subjects: { users: [ada] }, operations: [read] }\n',
)

/** Reports on a text that replaces `tags.yaml`. */
function report(
  text: string,
  inForce: Readonly<Record<string, string>> = {},
  ...requests: Trial['requests']
) {
  const documents = Object.entries(inForce).flatMap(
    ([name, content]) => parsePolicyFile({ name, bytes: Buffer.from(content) }, builtInVocabulary).documents,
  )
  const trial = { text, file: 'tags.yaml', requests }
  return createPlaygroundReport(trial, documents, builtInVocabulary)
}

function errorsOf(text: string, inForce: Readonly<Record<string, string>>): readonly unknown[] {
  return report(text, inForce).findings.filter(({ level }) => level === 'error')
}

it('an error that a text causes in another file names that file, at the first line of the text', () => {
  const inForce = { 'tags.yaml': declares('pii'), 'other.yaml': names('pii') }
  expect(errorsOf(declares('secret'), inForce)).toEqual([
    {
      level: 'error',
      check: 'refused',
      file: 'tags.yaml',
      line: 1,
      message:
        'other.yaml:6:5: the rule "pii" names the tag "pii", which no policy declares; expected one of secret',
    },
  ])
})

it('errors that other policies have anyway are not those of the text', () => {
  const inForce = { 'tags.yaml': declares('pii'), 'other.yaml': names('missing', 'pii') }
  expect(errorsOf(declares('pii, secret'), inForce)).toEqual([])
  expect(errorsOf(declares('secret'), inForce)).toMatchObject([
    { message: expect.stringContaining('other.yaml:7:5: the rule "pii"') as string },
  ])
})

it('errors and findings have the lines and columns of the lint', () => {
  const { findings, outcome } = report(reads.replace('subjects', 'subject').replace('read]', 'reed]'))
  expect(outcome).toBeUndefined()
  expect(findings.map(({ line, column }) => [line, typeof column])).toEqual(findings.map(() => [6, 'number']))
  expect(JSON.stringify(findings)).toMatch(/did you mean/)
  const all = policy(
    'all',
    'rules:\n  - { id: a, effect: allow, subjects: { any: true }, operations: [all] }\n',
  )
  expect(report(reads, { 'all.yaml': all }).findings).toContainEqual(
    expect.objectContaining({ level: 'warning', check: 'shadowed', line: 6, column: 5 }),
  )
})

const ask = (members: object) => ({
  principal: 'ada',
  groups: [],
  operation: 'QueryTable',
  id: 'crm/people',
  ...members,
})

it('each request has its decision, with what restrictions leave of the table', () => {
  const text = `${reads}restrict:
  - id: part
    subjects: { users: [ada] }
    tables: [people]
    columns: { id: number }
    rows: tenant = $principal.claims.tenant
`
  const { outcome } = report(text, {}, ask({}), ask({ principal: 'dev' }), ask({ operation: 'DropTable' }))
  expect(outcome?.decisions).toMatchObject([
    { title: 'ada: QueryTable on crm/people', before: false, after: true },
    { title: 'dev: QueryTable on crm/people', after: false },
    { title: 'ada: DropTable on crm/people', after: false },
  ])
  expect(outcome?.decisions[0]?.explanation).toMatch(
    /restricted by tried\/part \(tags.yaml:8\)\n +columns +id number\n +rows +false$/m,
  )
})

const testThat = (expect: string) =>
  `  - { name: ada ${expect}, as: { user: ada }, operations: [QueryTable], table: [crm, people], expect: ${expect} }\n`

it('the tests in the text run as policy test runs them', () => {
  const { outcome } = report(`${reads}tests:\n${testThat('allow')}${testThat('deny')}`)
  expect(outcome?.tests).toEqual({
    count: 2,
    failed: [
      {
        line: 9,
        name: 'ada deny',
        text: 'QueryTable\n  expected  deny\n  decided   allow by tried/r (tags.yaml:6)',
      },
    ],
  })
})

it('a listing that no rule allows is decided by what is visible beneath', () => {
  const { outcome } = report(
    reads,
    {},
    { principal: 'ada', groups: [], operation: 'ListNamespaces', id: '/' },
  )
  expect(outcome?.decisions).toMatchObject([
    {
      before: false,
      after: true,
      explanation: expect.stringContaining('shows what is visible beneath, by tried/r') as string,
    },
  ])
})
