import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import fastify from 'fastify'
import { afterAll, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parsePolicies } from '../../../src/policy/language/parse-policies.ts'
import { createPolicySchema } from '../../../src/policy/language/policy-json-schema.ts'
import { arbitraryPolicies } from '../policy-arbitraries.ts'
import { formatPolicies } from '../policy-builder.ts'

// The validator of fastify is one that reads JSON Schema as it is written.
const server = fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false } } })
server.post('/', { schema: { body: createPolicySchema() } }, () => 'fits')
afterAll(() => server.close())

async function fits(document: object): Promise<boolean> {
  return (await server.inject({ method: 'POST', url: '/', payload: document })).statusCode === 200
}

it('the file for editors is what the code says; npm run schema writes it', async () => {
  const file = await readFile(new URL('../../../policies/schema.json', import.meta.url), 'utf8')
  expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(createPolicySchema())))
})

it('accepts what the reader of policies accepts', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryPolicies, async (policies) => {
      for (const document of parseAllDocuments(formatPolicies(policies))) {
        expect(await fits(document.toJS() as object)).toBe(true)
      }
    }),
  )
})

const whole = {
  apiVersion: 'catalog-gateway/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'p' },
  namespace: ['a'],
  rules: [{ id: 'r', effect: 'allow', subjects: { any: true }, operations: ['read'] }],
}

it.each<[what: string, change: object]>([
  ['another version', { apiVersion: 'catalog-gateway/v2' }],
  ['another kind', { kind: 'Policy' }],
  ['no name', { metadata: {} }],
  ['a name with a space', { metadata: { name: 'a b' } }],
  ['a namespace that is text', { namespace: 'a.b' }],
  ['a namespace with a star', { namespace: ['a', '*'] }],
  ['an unknown field', { rule: [] }],
  ['no rules', { rules: undefined }],
  ['a word for inherit', { inherit: 'no' }],
  ['another status', { onDeny: 401 }],
  ['an unknown final operation', { final: ['everything'] }],
  ['an unknown operation', { rules: [{ ...whole.rules[0], operations: ['reed'] }] }],
  ['an unknown effect', { rules: [{ ...whole.rules[0], effect: 'permit' }] }],
  ['nobody', { rules: [{ ...whole.rules[0], subjects: {} }] }],
  ['nobody but exceptions', { rules: [{ ...whole.rules[0], subjects: { except: { users: ['a'] } } }] }],
  ['any: false', { rules: [{ ...whole.rules[0], subjects: { any: false } }] }],
  ['a rule with final', { rules: [{ ...whole.rules[0], final: true }] }],
  ['a requirement of nothing', { commits: { require: [{ id: 'c' }] } }],
  ['a requirement of two things', { commits: { require: [{ id: 'c', metadata: ['a'], branches: ['b'] }] } }],
])('refuses %s, as the reader does', async (_what, change) => {
  const document = JSON.parse(JSON.stringify({ ...whole, ...change })) as object
  expect(await fits(document)).toBe(false)
  expect(parsePolicies(JSON.stringify(document), 'p.yaml').problems).not.toEqual([])
})

it('accepts the policy that these faults are made from', async () => {
  expect(await fits(whole)).toBe(true)
  expect(parsePolicies(JSON.stringify(whole), 'p.yaml').problems).toEqual([])
})
