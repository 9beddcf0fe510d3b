import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { extraPermissions, permissionGroups } from '../../src/interface/permissions.ts'
import { parsePolicies } from '../../src/policy/documents.ts'

const readme = await readFile(new URL('../../policies/README.md', import.meta.url), 'utf8')

it('says what each group of operations holds', () => {
  const rows = [...readme.matchAll(/^\| `(\w+)` +\| (.*) \|$/gm)].map(([, group = '', members = '']) => {
    const names = [...members.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    // The last two rows hold groups.
    const permissions = names.flatMap<string>((name) => permissionGroups.get(name) ?? name)
    return [group, permissions.toSorted()] as const
  })
  const groups = [...permissionGroups].map(([group, members]) => [group, members.toSorted()] as const)
  expect(rows).toEqual(groups)
})

it('explains every effect that hides in an operation', () => {
  const explained = [...readme.matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name)
  expect(explained).toEqual(Object.keys(extraPermissions))
})

it('shows a policy that can be used', () => {
  const [, example = ''] = /^```yaml\n(.*?)^```/ms.exec(readme) ?? []
  expect(parsePolicies(example, 'README.md')).toMatchObject({
    problems: [],
    documents: [{ name: 'sales-writers', namespace: ['prod', 'sales'], inherit: true }],
  })
})
