import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { permissionNames, type Permission } from '../../../src/catalog-api/permissions.ts'
import { parsePolicies } from '../parse-policies.ts'
import type { NamedSubjects, PolicyDocument } from '../../../src/policy/language/policy-document.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { arbitraryPolicies } from '../policy-arbitraries.ts'
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

/** Reference implementation: one list of lists in JSON per document. */
function obviousRevision(documents: readonly PolicyDocument[]): string {
  const hash = createHash('sha256')
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const { name, namespace, inherit, final, onDeny, rules } = document
    const contents = rules.map(({ id, effect, subjects, permissions, tables, condition }) => {
      const { any, anonymous, except } = subjects
      const whom = [names(subjects), any, anonymous, except ? names(except) : null]
      return [id, effect, ...whom, spelled(permissions), tables ?? null, condition?.text ?? null]
    })
    hash.update(JSON.stringify([name, namespace, inherit, spelled(final), onDeny ?? null, contents]))
  }
  return hash.digest('hex')
}

function names({ users, groups, keys }: NamedSubjects): readonly unknown[] {
  return [users, groups, keys]
}

function spelled(permissions: ReadonlySet<Permission>): string {
  return permissionNames.filter((name) => permissions.has(name)).join(' ')
}

it('is the hash of the JSON content of the documents, stable across releases', () => {
  fc.assert(
    fc.property(arbitraryPolicies, (written) => {
      const { documents } = parsePolicies(formatPolicies(written), 'x.yaml')
      expect(compilePolicies(documents).revision).toBe(obviousRevision(documents))
    }),
    { numRuns: 20 },
  )
  // Long texts, characters of many bytes, and escapes of JSON.
  const users = Array.from({ length: 5000 }, (_, at) => `${'é\u{1f600}x"\\'.charAt(at % 6)}name-${at}`)
  const groups = [`g${'x'.repeat(70_000)}`, `é${'é'.repeat(70_000)}`]
  const rules = one.rules.map((rule) => ({ ...rule, subjects: { users, groups, keys: ['\ud800'] } }))
  const { documents } = parsePolicies(
    formatPolicies([
      { ...one, rules },
      { ...two, rules },
    ]),
    'x.yaml',
  )
  expect(documents).toHaveLength(2)
  expect(compilePolicies(documents).revision).toBe(obviousRevision(documents))
})
