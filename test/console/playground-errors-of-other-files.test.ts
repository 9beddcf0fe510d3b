import { expect, it } from 'vitest'
import { createPlaygroundReport } from '../../src/console/playground/playground-report.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { parsePolicyFile } from '../../src/policy/source/parse-policy-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const head = (name: string): string => `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: ${name} }
namespace: [crm]
`
const declares = (tag: string): string => `${head('tags')}tags: { namespace: [${tag}] }\n`
const names = (...tags: readonly string[]): string =>
  `${head('other')}rules:\n${tags.map((tag) => `  - { id: ${tag}, effect: deny, subjects: { any: true }, operations: [drop], when: '"${tag}" in tags' }\n`).join('')}`

/** The errors if a text replaces `tags.yaml`. */
async function errorsOf(
  text: string,
  inForce: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  const documents = Object.entries(inForce).flatMap(
    ([name, content]) => parsePolicyFile({ name, bytes: Buffer.from(content) }, builtInVocabulary).documents,
  )
  const run = { text, file: 'tags.yaml', question: undefined, auditFolder: await temporaryFolder() }
  const { findings } = await createPlaygroundReport(
    { ...run, vocabulary: builtInVocabulary.options },
    documents,
    builtInVocabulary,
  )
  return findings.filter(({ level }) => level === 'error')
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
