import { describe, expect, it } from 'vitest'
import { render } from './chart.ts'
import { helms } from './helm-programs.ts'

const upstream = {
  url: 'https://catalog.example',
  delimiter: '.',
  extraOperations: [{ name: 'WarmTable', path: '/v1/table/{id}/warm', effect: 'read', group: 'query' }],
}
const delegation = {
  kubernetesNamespace: 'sales',
  uid: 'u',
  catalogNamespaces: [['prod']],
  subjects: { any: true },
  additionalPermissions: ['RegisterTable'],
}
const words = [
  ['--kube-version', '1.31.0'],
  ['--set', 'policies.kubernetes.enabled=true,catalog.enabled=false'],
  ['--set-json', `config.upstream=${JSON.stringify(upstream)}`],
  ['--set-json', `policies.kubernetes.delegations=${JSON.stringify([delegation])}`],
].flat()

describe.skipIf(helms.length === 0)('operations that only the settings declare', () => {
  it('are accepted in policies by the API server, and so are names for another delimiter', async () => {
    const manifests = await render(words)
    const definition = manifests.find(({ kind }) => kind === 'CustomResourceDefinition')
    const operations = { items: { enum: expect.arrayContaining(['read', 'QueryTable', 'WarmTable']) } }
    const properties = {
      final: operations,
      namespace: { items: { pattern: '^[^*/]+$' } },
      rules: { items: { properties: { operations, tables: { items: { pattern: '^[^/]+$' } } } } },
      tests: { items: { properties: { operations } } },
    }
    expect(definition).toMatchObject({
      spec: { versions: [{ schema: { openAPIV3Schema: { properties } } }] },
    })
  })

  it('are not delegated, nor are their groups, unless a delegation names them', async () => {
    const manifests = await render(words)
    const delegated = manifests.find(({ metadata }) => metadata.name.endsWith('delegations-sales'))
    expect(delegated).toMatchObject({ kind: 'ConfigMap', data: { catalogNamespaces: 'prod' } })
    const { refusedOperations = '' } = (delegated as { readonly data?: Record<string, string> }).data ?? {}
    const refused = refusedOperations.split('\n')
    expect(refused).toEqual(expect.arrayContaining(['WarmTable', 'query', 'read', 'all', 'VendCredentials']))
    for (const name of ['RegisterTable', 'browse', 'write']) expect(refused).not.toContain(name)
  })
})
