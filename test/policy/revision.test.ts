import { expect, it } from 'vitest'
import { parsePolicies } from '../../src/policy/documents.ts'
import { compilePolicies } from '../../src/policy/trie.ts'
import { textOf, type WrittenPolicy } from './written-policy.ts'

const one: WrittenPolicy = {
  name: 'one',
  namespace: ['a'],
  rules: [{ id: 'r', effect: 'allow', subjects: { any: true }, operations: ['query'] }],
}
const two: WrittenPolicy = { ...one, name: 'two', namespace: ['a', 'b'] }

function revision(text: string): string {
  return compilePolicies(parsePolicies(text, 'x.yaml').documents).revision
}

it('is the same for the same content in another order and layout', () => {
  const written = revision(textOf([one, two]))
  expect(written).toMatch(/^[0-9a-f]{64}$/)
  expect(revision(`# comment\n---\n${textOf([two, one])}\n`)).toBe(written)
  expect(revision(textOf([{ ...one, inherit: true }, two]))).toBe(written)
})

it('differs wherever a decision may', () => {
  const [rule] = one.rules
  if (rule === undefined) throw new Error('no rule')
  const others: WrittenPolicy[] = [
    { ...one, namespace: ['a', 'a'] },
    { ...one, inherit: false },
    { ...one, rules: [] },
    { ...one, rules: [{ ...rule, effect: 'deny' }] },
    { ...one, rules: [{ ...rule, operations: ['read'] }] },
    { ...one, rules: [{ ...rule, tables: ['t'] }] },
    { ...one, rules: [{ ...rule, subjects: { users: ['any'] } }] },
    { ...one, rules: [{ ...rule, subjects: { groups: ['any'] } }] },
  ]
  const revisions = [one, ...others].map((policy) => revision(textOf([policy])))
  expect(new Set(revisions).size).toBe(revisions.length)
})
