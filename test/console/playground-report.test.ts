import { expect, it } from 'vitest'
import type { PlaygroundRun } from '../../src/console/playground/playground.ts'
import { createPlaygroundReport } from '../../src/console/playground/playground-report.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { parsePolicyFile } from '../../src/policy/source/load-policies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
async function report(
  text: string,
  inForce: Readonly<Record<string, string>> = {},
  question?: PlaygroundRun['question'],
) {
  const documents = Object.entries(inForce).flatMap(
    ([name, content]) => parsePolicyFile({ name, bytes: Buffer.from(content) }, builtInVocabulary).documents,
  )
  const { options: vocabulary } = builtInVocabulary
  const run = { text, file: 'tags.yaml', question, auditFolder: await temporaryFolder(), vocabulary }
  return createPlaygroundReport(run, documents, builtInVocabulary)
}

async function errorsOf(
  text: string,
  inForce: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  return (await report(text, inForce)).findings.filter(({ level }) => level === 'error')
}

it('an error that a text causes in another file names that file, at the first line of the text', async () => {
  const inForce = { 'tags.yaml': declares('pii'), 'other.yaml': names('pii') }
  expect(await errorsOf(declares('secret'), inForce)).toEqual([
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

it('errors that other policies have anyway are not those of the text', async () => {
  const inForce = { 'tags.yaml': declares('pii'), 'other.yaml': names('missing', 'pii') }
  expect(await errorsOf(declares('pii, secret'), inForce)).toEqual([])
  expect(await errorsOf(declares('secret'), inForce)).toMatchObject([
    { message: expect.stringContaining('other.yaml:7:5: the rule "pii"') as string },
  ])
})

it('errors and findings have the lines and columns of the lint', async () => {
  const { findings, outcome } = await report(reads.replace('subjects', 'subject').replace('read]', 'reed]'))
  expect(outcome).toBeUndefined()
  expect(findings.map(({ line, column }) => [line, typeof column])).toEqual(findings.map(() => [6, 'number']))
  expect(JSON.stringify(findings)).toMatch(/did you mean/)
  const all = policy(
    'all',
    'rules:\n  - { id: a, effect: allow, subjects: { any: true }, operations: [all] }\n',
  )
  expect((await report(reads, { 'all.yaml': all })).findings).toContainEqual(
    expect.objectContaining({ level: 'warning', check: 'shadowed', line: 6, column: 5 }),
  )
})

it('the answer has what restrictions leave of the table, with the facts of callers as the text has them', async () => {
  const text = `${reads}restrict:
  - id: part
    subjects: { users: [ada] }
    tables: [people]
    columns: { id: number }
    rows: tenant = $principal.claims.tenant
`
  const restrictedBy = async (asked: object) => {
    const read = { principal: 'ada', groups: [], operation: 'QueryTable', id: 'crm/people', ...asked }
    return (await report(text, {}, read)).outcome?.answer?.restrictedBy
  }
  expect(await restrictedBy({})).toMatchObject([
    {
      rule: { policy: 'tried', rule: 'part', line: 8 },
      columns: { id: 'number' },
      rows: '(`tenant` = $principal.claims.tenant)',
    },
  ])
  expect(await restrictedBy({ principal: 'dev' })).toEqual([])
  expect(await restrictedBy({ operation: 'DropTable' })).toEqual([])
})

it('a listing that no rule allows is decided by what is visible beneath', async () => {
  const { outcome } = await report(
    reads,
    {},
    { principal: 'ada', groups: [], operation: 'ListNamespaces', id: '/' },
  )
  expect(outcome?.answer).toMatchObject({
    before: false,
    after: true,
    rule: { policy: 'tried', rule: 'r' },
    isByVisibility: true,
  })
})
