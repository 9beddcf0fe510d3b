import { expect, it } from 'vitest'
import { readChanged } from './read-changed-settings.ts'

const team = {
  name: 'team-a',
  uid: 'u1',
  catalogNamespaces: [['prod', 'sales']],
  subjects: { issuers: ['corp'] },
}
const platform = { name: 'catalog-system', platform: true }

const read = (namespaces: readonly object[]) =>
  readChanged({
    upstream: {
      url: 'https://catalog.example',
      extraOperations: [{ name: 'PrewarmTable', path: '/v1/table/{id}/warm', effect: 'read' }],
    },
    identity: {
      anonymous: true,
      issuers: [{ name: 'corp', issuer: 'https://idp.example', audience: 'catalog', algorithms: ['ES256'] }],
    },
    policies: { folder: 'policies', kubernetes: { namespaces } },
  })

it('fills in the defaults of a delegation, and none for a platform namespace', async () => {
  const { policies } = await read([platform, team])
  expect(policies.kubernetes).toEqual({
    namespaces: [
      platform,
      {
        ...team,
        platform: false,
        subjects: { issuers: ['corp'], users: [], groups: [], keys: [], any: false, anonymous: false },
        additionalPermissions: [],
      },
    ],
  })
})

it.for<[attack: string, namespaces: readonly object[], message: string]>([
  [
    'the root as scope',
    [{ ...team, catalogNamespaces: [[]] }],
    '.0.catalogNamespaces.0: expected a namespace beneath the root: the root would be everything',
  ],
  [
    'an invalid name in a scope',
    [{ ...team, catalogNamespaces: [['a/b', '..']] }],
    '.0.catalogNamespaces.0: a part of the id, "a/b", contains "/"',
  ],
  [
    'no scope',
    [{ ...team, catalogNamespaces: undefined }],
    '.0.catalogNamespaces: is missing; expected it, or platform: true',
  ],
  [
    'a scope in that of another team',
    [team, { ...team, name: 'team-b', uid: 'u2', catalogNamespaces: [['prod', 'sales', 'eu']] }],
    '.1.catalogNamespaces.0: ["prod","sales","eu"] overlaps ["prod","sales"] of team-a',
  ],
  [
    'a scope above that of another team',
    [team, { ...team, name: 'team-b', uid: 'u2', catalogNamespaces: [['dev'], ['prod']] }],
    '.1.catalogNamespaces.1: ["prod"] overlaps ["prod","sales"] of team-a',
  ],
  [
    'no uid',
    [{ ...team, uid: undefined }],
    '.0.uid: is missing; expected the output of: kubectl get namespace team-a --output jsonpath={.metadata.uid}',
  ],
  [
    'a scope of the platform',
    [{ ...platform, catalogNamespaces: [['prod']] }],
    '.0.catalogNamespaces: limits a delegation; expected either platform: true or limits',
  ],
  ['a misspelt member', [{ ...team, scopes: [] }], '.0.scopes: unknown setting'],
  ['no subjects', [{ ...team, subjects: { any: false } }], '.0.subjects: names no subject'],
  [
    'an unknown issuer',
    [{ ...team, subjects: { issuers: ['corpo'] } }],
    '.0.subjects.issuers.0: unknown identity source "corpo"; did you mean "corp"?',
  ],
  [
    'an unknown permission',
    [{ ...team, additionalPermissions: ['PrewarmTable', 'RegistrTable'] }],
    '.0.additionalPermissions.1: unknown operation or permission "RegistrTable"; did you mean "RegisterTable"?',
  ],
  [
    'one name twice',
    [platform, { ...team, name: 'catalog-system' }],
    '.1.name: duplicate name of a Kubernetes namespace "catalog-system"',
  ],
  [
    'one uid twice',
    [{ ...platform, uid: 'u1' }, team],
    '.1.uid: duplicate uid of a Kubernetes namespace "u1"',
  ],
  [
    'an invalid name',
    [{ ...platform, name: '../kube-system' }],
    '.0.name: expected the name of a Kubernetes namespace',
  ],
  ['no namespace', [], 'policies.kubernetes.namespaces: '],
])('refuses %s', async ([, namespaces, message]) => {
  const path = message.startsWith('policies') ? '' : 'policies.kubernetes.namespaces'
  await expect(read(namespaces)).rejects.toThrow(`${path}${message}`)
  await expect(read(namespaces)).rejects.toThrow(/gateway\.yaml:\d+:\d+: policies/)
})

it('names that only begin alike do not overlap', async () => {
  const other = {
    ...team,
    name: 'team-b',
    uid: 'u2',
    catalogNamespaces: [['prod', 'sales-eu'], ['production']],
  }
  await expect(read([team, other])).resolves.toBeDefined()
})
