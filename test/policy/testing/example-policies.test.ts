import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runTests } from '../../../src/policy/testing/decision-test.ts'
import { parsePolicies } from '../parse-policies.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { loadPolicies } from '../../../src/policy/source/load-policies.ts'

const vocabulary = createPolicyVocabulary({ acceptsDevelopment: true })
const folder = (name: string): string => fileURLToPath(new URL(`../../../policies/${name}`, import.meta.url))

describe.each(['development', 'examples'])('policies/%s', async (name) => {
  const loaded = await loadPolicies([folder(name)], vocabulary)
  const { tests } = loaded
  const { results, untested } = runTests(tests, loaded)

  it.each(results)('decides as $file:$line expects: $name', ({ disagreements }) => {
    expect(disagreements).toEqual([])
  })

  it('has a test for each rule', () => {
    expect(untested).toEqual([])
  })

  it('expects denials as well as permissions', () => {
    expect(new Set(tests.map(({ expected }) => expected))).toEqual(new Set(['allow', 'deny']))
  })

  it('has only files that are valid on their own', async () => {
    for (const file of await readdir(folder(name))) {
      const text = await readFile(`${folder(name)}/${file}`, 'utf8')
      const { documents, problems } = parsePolicies(text, file, vocabulary)
      expect(problems).toEqual([])
      expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/schema\.json\n/)
      expect(documents.length).toBeGreaterThan(0)
    }
  })
})
