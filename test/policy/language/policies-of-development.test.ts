import { expect, it } from 'vitest'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { parsePolicyFile } from '../../../src/policy/source/load-policies.ts'

const text = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
mode: development
namespace: []
rules: [{ id: r, effect: allow, subjects: { users: [dev] }, operations: [all] }]
`
const file = { name: 'p.yaml', bytes: Buffer.from(text) }

it.each([
  [false, [{ file: 'p.yaml', line: 4, column: 7, message: expect.stringMatching(/^mode is development: /) }]],
  [true, []],
])('mode: development, if the settings accept it: %s', (acceptsDevelopment, problems) => {
  const vocabulary = createPolicyVocabulary({ acceptsDevelopment })
  expect(parsePolicyFile(file, vocabulary)).toMatchObject({ problems })
})

it('a policy of development is in force where it is accepted', () => {
  const vocabulary = createPolicyVocabulary({ acceptsDevelopment: true })
  expect(parsePolicyFile(file, vocabulary).documents).toMatchObject([{ name: 'p', isShadow: false }])
})
