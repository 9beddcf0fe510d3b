import { describe, expect, it } from 'vitest'
import { podTemplatesOf, render, valuesFile, valueWords } from './chart.ts'
import { helms } from './helm-programs.ts'

async function refusalOf(values: object, release = 'release'): Promise<string> {
  const failure = await render(await valueWords(values), { release }).then(
    () => undefined,
    (error: { readonly stderr?: string }) => error.stderr,
  )
  if (failure === undefined) throw new Error('the values were not refused')
  return failure
}

describe.skipIf(helms.length === 0)('values', () => {
  it('that conflict are refused, all at once', async () => {
    const refusal = await refusalOf({
      autoscaling: { enabled: true },
      persistence: { enabled: false },
      auditCompare: { enabled: true },
      serviceMonitor: { enabled: true },
      service: { nodePort: 30080 },
      ingress: { enabled: true },
      httpRoute: { enabled: true },
      catalog: { enabled: true, replicaCount: 2 },
      podDisruptionBudget: { minAvailable: '51%' },
    })
    for (const reported of [
      'config.audit.mode is strict',
      'auditCompare reads the audit logs on the volumes of the gateways; expected persistence.enabled',
      'expected pageTokens.existingSecret',
      'expected networkPolicy.adminFrom',
      'service.nodePort is 30080 and service.type is ClusterIP',
      'expected ingress.hosts',
      'expected httpRoute.parentRefs',
      'several catalogs cannot share SQLite',
      'several catalogs need the same tables',
      'podDisruptionBudget.minAvailable is 51% and catalog.replicaCount is 2: no pod may be evicted',
    ]) {
      expect(refusal).toContain(reported)
    }
    expect(refusal).not.toContain('modes.admin')
  })

  it('with which no request would succeed are refused', async () => {
    const refusal = await refusalOf({ catalog: { enabled: false }, bootstrapKey: { enabled: false } })
    for (const reported of ['there is no upstream', 'nothing authenticates callers', 'without policies']) {
      expect(refusal).toContain(reported)
    }
    const upstream = { url: 'https://catalog.example' }
    expect(await refusalOf({ config: { upstream } })).toContain('expected catalog.enabled: false')
  })

  it('with policies that no gateway would read are refused', async () => {
    for (const folder of ['/elsewhere', ['/elsewhere', 'policies-too']]) {
      const elsewhere = { config: { policies: { folder } }, apiKeys: { existingSecret: 'k' } }
      expect(await refusalOf({ ...elsewhere, policies: { inline: { 'p.yaml': '#' } } })).toContain(
        'with config.policies.folder, gateways do not read the policy folder of the chart; expected it without policies.inline',
      )
      await render(await valueWords(elsewhere))
    }
    const folder = ['policies/live', '/etc/catalog-gateway/policies/next']
    await render(
      await valueWords({
        policies: { existingConfigMaps: ['live', 'next'] },
        config: { policies: { folder } },
      }),
    )
  })

  it('of Kubernetes namespaces with policies that a gateway could not pin are refused', async () => {
    const delegation = { catalogNamespaces: [['a']], subjects: { any: true } }
    const refusal = await refusalOf({
      policies: {
        kubernetes: {
          enabled: true,
          delegations: [
            { ...delegation, kubernetesNamespace: 'default', uid: 'one' },
            { ...delegation, kubernetesNamespace: 'sales' },
          ],
        },
      },
    })
    for (const reported of [
      'policies.kubernetes has the Kubernetes namespace default twice',
      'does not know the uid of the Kubernetes namespace sales',
      'kubectl get namespace sales --output jsonpath={.metadata.uid}',
    ]) {
      expect(refusal).toContain(reported)
    }
    const kubernetes = { enabled: true, platformNamespaces: [] }
    expect(await refusalOf({ policies: { kubernetes } })).toContain(
      'no Kubernetes namespace may have policies',
    )
  })

  it('of delegations with unknown or missing limits are refused', async () => {
    const delegation = { kubernetesNamespace: 'sales', catalogNamespaces: [[]], subject: { any: true } }
    const refusal = await refusalOf({ policies: { kubernetes: { delegations: [delegation] } } })
    for (const reported of [
      "at '/policies/kubernetes/delegations/0': missing property 'subjects'",
      "additional properties 'subject' not allowed",
      "'/policies/kubernetes/delegations/0/catalogNamespaces/0': minItems",
    ]) {
      expect(refusal).toContain(reported)
    }
  })

  it('of a catalog that would lose its tables with its pod are refused', async () => {
    const refusal = await refusalOf({
      catalog: { enabled: true, accessToken: { existingSecret: 'token' }, persistence: { enabled: false } },
    })
    expect(refusal).toContain('without a volume, tables in a folder and a catalog in SQLite go with the pod')
  })

  it('that the schema does not allow are refused', async () => {
    const refusal = await refusalOf({
      replicas: 2,
      image: { registry: 'images.example' },
      catalog: { tokn: {} },
      policies: { inline: { '../escape.yaml': 'x', 'a.b/c.yaml': 'x' } },
      service: { port: 0 },
      apiKeys: { existingSecret: 'Not A Name' },
    })
    for (const reported of [
      'replicas',
      'registry',
      'tokn',
      '../escape.yaml',
      'a.b/c.yaml',
      'service',
      'apiKeys',
    ]) {
      expect(refusal).toContain(reported)
    }
  })

  it('with a secret among the settings are refused', async () => {
    const refusal = await refusalOf({
      config: {
        upstream: { credential: { value: 'a-secret' } },
        upstreams: [{ credential: { value: 'a-secret' } }],
      },
      catalog: { config: { store: { postgres: { url: 'a-secret' } }, accessToken: 'a-secret' } },
    })
    for (const reported of [
      "'/config/upstream/credential/value'",
      "'/config/upstreams/0/credential/value'",
      'expected a file of a Secret, or CATALOG_GATEWAY__STORE__POSTGRES__URL from a Secret',
      'expected a file of a Secret, or CATALOG_GATEWAY__ACCESS_TOKEN from a Secret',
    ]) {
      expect(refusal).toContain(reported)
    }
    expect(refusal).not.toContain('a-secret')
  })

  it('that are null are refused, except where templates print them whole', async () => {
    expect(await refusalOf({ config: { listen: null } })).toContain("'/config/listen': got null, want object")
    expect(await refusalOf({ catalog: null })).toContain("missing property 'catalog'")
    expect(await refusalOf({ policies: { inline: null } })).toContain("missing property 'inline'")
    const words = ['--values', valuesFile('one-upstream'), '--set', 'resources.limits=null']
    const text = JSON.stringify(podTemplatesOf(await render(words)))
    expect(text).not.toContain('"memory":"1Gi"')
  })

  it('with which a gateway could not be reached are refused', async () => {
    const refusal = await refusalOf(
      {
        nameOverride: 'x',
        config: { listen: { host: '127.0.0.1', port: 0 }, admin: { host: 'localhost' } },
        catalog: { enabled: true, config: { listen: { host: '::1' } } },
        autoscaling: { enabled: true, minReplicas: 7, maxReplicas: 6 },
      },
      'sales.eu',
    )
    for (const reported of [
      'nothing outside of the pod reaches config.listen.host: 127.0.0.1',
      'nothing outside of the pod reaches config.admin.host: localhost',
      'nothing outside of the pod reaches catalog.config.listen.host: ::1',
      'config.listen.port is 0',
      'autoscaling.minReplicas is 7 and autoscaling.maxReplicas is 6',
      'the name of the release leads to "sales.eu-x"',
    ]) {
      expect(refusal).toContain(reported)
    }
    expect(await refusalOf({ config: { admin: { port: 2333 } } })).toContain('are both 2333')
  })
})
