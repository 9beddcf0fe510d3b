import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { qualifiedRuleName } from '../../../src/policy/engine/decision.ts'
import { runTests } from '../../../src/policy/testing/decision-test.ts'
import { parsePolicies } from '../parse-policies.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { loadPolicies } from '../../../src/policy/source/load-policies.ts'

const vocabulary = createPolicyVocabulary({ acceptsDevelopment: true })
const folder = (name: string): string => fileURLToPath(new URL(`../../../policies/${name}`, import.meta.url))

describe.each(['development', 'examples'])('policies/%s', async (name) => {
  const { tests, set } = await loadPolicies([folder(name)], vocabulary)
  const { results, decidingRules } = runTests(tests, () => set)

  it.each(results)('decides as $file:$line expects: $name', ({ disagreements }) => {
    expect(disagreements).toEqual([])
  })

  it('has a test for each rule', () => {
    const rules = set.documents.flatMap(({ name, rules }) =>
      rules.map(({ id }) => qualifiedRuleName({ policy: name, rule: id })),
    )
    expect(rules.filter((rule) => !decidingRules.has(rule))).toEqual([])
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
