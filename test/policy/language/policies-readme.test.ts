import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { extraPermissions, permissionGroups } from '../../../src/catalog-api/permissions.ts'
import { conditionFunctions } from '../../../src/policy/conditions/condition-functions.ts'
import { conditionVariables } from '../../../src/policy/conditions/condition-variables.ts'
import { parsePolicies } from '../../../src/policy/language/parse-policies.ts'
import {
  commitFields,
  documentFields,
  freezeFields,
  requirementFields,
  ruleFields,
  subjectFields,
} from '../../../src/policy/language/policy-fields.ts'
import { factsReferenceIn, withFactsReference } from './facts-reference.ts'

const readme = await readFile(new URL('../../../policies/README.md', import.meta.url), 'utf8')
const section = (title: string): string => readme.split(/^## /m).find((text) => text.startsWith(title)) ?? ''

it('says what each group of operations holds', () => {
  const rows = [...section('Operations').matchAll(/^\| `(\w+)` +\| (.*) \|$/gm)].map(
    ([, group = '', members = '']) => {
      const names = [...members.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
      // The last two rows hold groups.
      const permissions = names.flatMap<string>((name) => permissionGroups.get(name) ?? name)
      return [group, permissions.toSorted()] as const
    },
  )
  const groups = [...permissionGroups].map(([group, members]) => [group, members.toSorted()] as const)
  expect(rows).toEqual(groups)
})

it('explains every effect that hides in an operation', () => {
  const explained = [...section('Operations').matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name)
  expect(explained).toEqual(Object.keys(extraPermissions))
})

it('says which operations have which facts, and where; npm run reference writes it', () => {
  expect(factsReferenceIn(readme)).toEqual(factsReferenceIn(withFactsReference(readme)))
})

it('shows policies that can be used', () => {
  const examples = [...readme.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text)
  expect(parsePolicies(examples.join('---\n'), 'README.md')).toMatchObject({
    problems: [],
    documents: [
      { name: 'sales-writers', namespace: ['prod', 'sales'], inherit: true },
      { name: 'lake-commits', namespace: ['lake'] },
    ],
  })
})

it.each([
  ['variables', Object.keys(conditionVariables)],
  ['functions of our own', [...conditionFunctions.keys()]],
])('names all %s of conditions', (_what, names) => {
  for (const name of names) expect(section('Conditions')).toMatch(new RegExp(`\\b${name}\\b`))
})

it('shows every field of the language', () => {
  const fields = [documentFields, ruleFields, subjectFields, commitFields, requirementFields, freezeFields]
  for (const name of fields.flatMap((fields) => Object.keys(fields))) {
    expect(readme).toMatch(new RegExp(`\\b${name}\\b`))
  }
})
