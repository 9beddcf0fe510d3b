import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { formatPolicies, type WrittenPolicy } from '../policy-builder.ts'

const one: WrittenPolicy = {
  name: 'one',
  namespace: ['a'],
  rules: [{ id: 'r', effect: 'allow', subjects: { any: true }, operations: ['query'] }],
}
const two: WrittenPolicy = { ...one, name: 'two', namespace: ['a', 'b'] }

function revision(text: string): string {
  return compilePolicies(parsePolicies(text, 'x.yaml').documents).revision
}

it('is equal for equal content in another order and layout', () => {
  const written = revision(formatPolicies([one, two]))
  expect(written).toMatch(/^[0-9a-f]{64}$/)
  expect(revision(`# comment\n---\n${formatPolicies([two, one])}\n`)).toBe(written)
  expect(revision(formatPolicies([{ ...one, inherit: true }, two]))).toBe(written)
})

it('differs if a decision may differ', () => {
  const [rule] = one.rules
  if (rule === undefined) throw new Error('no rule')
  const others: WrittenPolicy[] = [
    { ...one, namespace: ['a', 'a'] },
    { ...one, inherit: false },
    { ...one, rules: [] },
    { ...one, tags: { namespace: ['eu'] } },
    { ...one, tags: { namespace: ['eu', 'x'] } },
    { ...one, rules: [{ ...rule, effect: 'deny' }] },
    { ...one, rules: [{ ...rule, operations: ['read'] }] },
    { ...one, rules: [{ ...rule, tables: ['t'] }] },
    { ...one, rules: [{ ...rule, subjects: { users: ['any'] } }] },
    { ...one, rules: [{ ...rule, subjects: { groups: ['any'] } }] },
    { ...one, rules: [{ ...rule, until: '2027-01-01T00:00:00Z' }] },
    { ...one, rules: [{ ...rule, until: '2027-01-01T00:00:01Z' }] },
  ]
  const revisions = [one, ...others].map((policy) => revision(formatPolicies([policy])))
  expect(new Set(revisions).size).toBe(revisions.length)
})

function revisionFor(...team: readonly string[]): string {
  const template = { ...one, forEach: { team }, namespace: ['{team}'] }
  return revision(formatPolicies([template]))
}

it('differs if a value is added to a policy with forEach, and not by their order', () => {
  expect(revisionFor('crm', 'hr')).not.toBe(revisionFor('crm'))
  expect(revisionFor('crm', 'hr')).toBe(revisionFor('hr', 'crm'))
})

it('is stable across releases', () => {
  // Long texts, characters of many bytes, and escapes of JSON.
  const users = Array.from({ length: 5000 }, (_, at) => `${'é\u{1f600}x"\\'.charAt(at % 6)}name-${at}`)
  const groups = [`g${'x'.repeat(70_000)}`, `é${'é'.repeat(70_000)}`]
  const rules = one.rules.map((rule) => ({
    ...rule,
    subjects: { users, groups, keys: ['\ud800'], except: { users: ['bob'] } },
    operations: ['QueryTable', 'DropTable'],
    tables: ['t*'],
    when: 'branch == "main"',
  }))
  const all = { ...two, inherit: false, final: ['DropFunction'], onDeny: 404, rules } as const
  expect(revision(formatPolicies([{ ...all, name: 'other', rules: [] }, all]))).toBe(
    'c49c1ec4ec5ef0de49de108e6b975b9e768777447ded24489555f0bc46cc844c',
  )
})
