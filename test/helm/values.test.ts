import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { getMembers } from '../../src/lib/index.ts'
import { everyInTheLongForm, isThorough } from '../support/thorough.ts'
import { chartFolder, podsOf, render, valuesFile, valuesNames, type Manifest } from './chart.ts'
import { helm, helms } from './helm-programs.ts'
import { manifestsOf } from './rendered-values.ts'

const name = 'release-catalog-gateway'
const selected = (component: string) => ({
  matchLabels: {
    'app.kubernetes.io/name': 'catalog-gateway',
    'app.kubernetes.io/instance': 'release',
    'app.kubernetes.io/component': component,
  },
})
const portsOf = (...ports: readonly string[]) => ports.map((port) => ({ port }))
const probe = (path: string, port: string) => ({ httpGet: { path, port } })
const probes = (port: string) => ({
  startupProbe: { ...probe('/livez', port), failureThreshold: 90, periodSeconds: 2 },
  livenessProbe: probe('/livez', port),
  readinessProbe: { ...probe('/readyz', port), failureThreshold: 2, periodSeconds: 5 },
})
const podOf = (spec: object) => ({ template: { spec } })
const claims = (spec: object, metadata: object = {}) => [
  { metadata: { name: 'data', ...metadata }, spec: { accessModes: ['ReadWriteOnce'], ...spec } },
]
const listed = (items: readonly unknown[]): unknown => expect.arrayContaining([...items])
const role = (kubernetesNamespace: string) => ({
  metadata: { namespace: kubernetesNamespace },
  rules: [
    { apiGroups: ['catalog-gateway.dev'], resources: ['accesspolicies'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['catalog-gateway.dev'], resources: ['accesspolicies/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['namespaces'], resourceNames: [kubernetesNamespace], verbs: ['get'] },
  ],
})

/** What values become, besides what other tests of pods, settings, Secrets and checks show. */
const expected: readonly (readonly [values: string, object: string, expectation: object])[] = [
  ['one-upstream', `Service ${name}`, { type: 'ClusterIP', ports: [{ name: 'http', port: 80 }] }],
  [
    'one-upstream',
    `Service ${name}-admin`,
    { clusterIP: 'None', publishNotReadyAddresses: true, ports: [{ name: 'admin', port: 2334 }] },
  ],
  ['one-upstream', `PodDisruptionBudget ${name}`, { maxUnavailable: 1, selector: selected('gateway') }],
  [
    'one-upstream',
    `NetworkPolicy ${name}`,
    { podSelector: selected('gateway'), policyTypes: ['Ingress'], ingress: [{ ports: portsOf('http') }] },
  ],
  [
    'one-upstream',
    `StatefulSet ${name}`,
    {
      replicas: 1,
      podManagementPolicy: 'Parallel',
      serviceName: `${name}-admin`,
      volumeClaimTemplates: claims({ resources: { requests: { storage: '10Gi' } } }),
      ...podOf({ containers: [probes('admin')] }),
    },
  ],
  [
    'bundled-catalog',
    `StatefulSet ${name}-catalog`,
    {
      volumeClaimTemplates: claims({ resources: { requests: { storage: '50Gi' } } }),
      ...podOf({
        containers: [
          {
            ...probes('http'),
            lifecycle: { preStop: { exec: { command: ['node', '-e', 'setTimeout(() => {}, 5000)'] } } },
          },
        ],
      }),
    },
  ],
  [
    'bundled-catalog',
    `NetworkPolicy ${name}-catalog`,
    { ingress: [{ ports: portsOf('http'), from: [{ podSelector: selected('gateway') }] }] },
  ],
  [
    'bundled-catalog-replicas',
    `StatefulSet ${name}-catalog`,
    {
      replicas: 3,
      minReadySeconds: 15,
      revisionHistoryLimit: 3,
      updateStrategy: { rollingUpdate: { partition: 1 } },
    },
  ],
  [
    'bundled-catalog-replicas',
    `NetworkPolicy ${name}`,
    {
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        {
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        { to: [{ podSelector: selected('catalog') }] },
        { to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] },
      ],
    },
  ],
  [
    'bundled-catalog-shared-claim',
    `StatefulSet ${name}-catalog`,
    {
      replicas: 2,
      ...podOf({
        serviceAccountName: 'tables',
        volumes: listed([{ name: 'data', persistentVolumeClaim: { claimName: 'tables' } }]),
      }),
    },
  ],
  [
    'autoscaling',
    `HorizontalPodAutoscaler ${name}`,
    {
      scaleTargetRef: { kind: 'StatefulSet', name },
      minReplicas: 3,
      maxReplicas: 12,
      metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 70 } } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
    },
  ],
  ['autoscaling', `PodDisruptionBudget ${name}`, { minAvailable: '50%' }],
  [
    'autoscaling',
    `StatefulSet ${name}`,
    {
      volumeClaimTemplates: claims(
        { storageClassName: 'fast', resources: { requests: { storage: '20Gi' } } },
        { annotations: { 'example.com/backup': 'daily' } },
      ),
    },
  ],
  [
    'gateway-api',
    `HTTPRoute ${name}`,
    {
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['catalog.example.com'],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name, port: 80 }] }],
    },
  ],
  [
    'ingress',
    `Ingress ${name}`,
    {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['catalog.example.com'], secretName: 'catalog-tls' }],
      rules: [
        {
          host: 'catalog.example.com',
          http: { paths: [{ path: '/', backend: { service: { name, port: { name: 'http' } } } }] },
        },
      ],
    },
  ],
  [
    'ingress',
    `NetworkPolicy ${name}`,
    {
      ingress: [
        {
          ports: portsOf('http'),
          from: [
            { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } },
            { podSelector: selected('test') },
          ],
        },
      ],
    },
  ],
  [
    'monitoring',
    `ServiceMonitor ${name}`,
    { selector: selected('admin'), endpoints: [{ port: 'admin', path: '/metrics', interval: '15s' }] },
  ],
  [
    'monitoring',
    `NetworkPolicy ${name}`,
    { ingress: [{ ports: portsOf('http') }, { ports: portsOf('admin'), from: [{}] }] },
  ],
  [
    'policies',
    `StatefulSet ${name}`,
    podOf({
      automountServiceAccountToken: true,
      volumes: listed([
        {
          name: 'policies',
          configMap: {
            name: `${name}-policies`,
            items: [
              { key: 'everybody.yaml', path: 'everybody.yaml' },
              { key: 'teams.sales.writers.yml', path: 'teams/sales/writers.yml' },
            ],
          },
        },
      ]),
    }),
  ],
  [
    'several-upstreams',
    `Service ${name}`,
    { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] },
  ],
  [
    'tls',
    `Service ${name}`,
    {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['203.0.113.0/24'],
      ports: [
        { port: 443, appProtocol: 'https' },
        { name: 'pass-through', port: 2335, targetPort: 'pass-through' },
      ],
    },
  ],
  [
    'tls',
    `Pod ${name}-test`,
    {
      containers: [
        {
          env: [
            { name: 'TARGET', value: `https://${name}:443/v1/namespace/$/list` },
            { name: 'API_KEY', valueFrom: { secretKeyRef: { name: 'gateway-test-key', key: 'key' } } },
            { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/certificate-authority/ca.crt' },
          ],
        },
      ],
    },
  ],
  ['without-volumes', `Deployment ${name}`, { replicas: 2 }],
  [
    'audit-compare',
    `CronJob ${name}-audit-compare`,
    {
      schedule: '5 4 * * *',
      concurrencyPolicy: 'Forbid',
      jobTemplate: {
        spec: {
          backoffLimit: 0,
          ...podOf({
            volumes: listed(
              [0, 1].map((replica) =>
                expect.objectContaining({
                  persistentVolumeClaim: { claimName: `data-${name}-${replica}`, readOnly: true },
                }),
              ),
            ),
          }),
        },
      },
    },
  ],
]

function find(manifests: readonly Manifest[], object: string): Manifest | undefined {
  return manifests.find(({ kind, metadata }) => `${kind} ${metadata.name}` === object)
}

const definition = await readFile(join(chartFolder, 'files', 'accesspolicies.yaml'), 'utf8')
const programs = isThorough ? helms : helms.slice(-1)

describe.skipIf(helms.length === 0)('the values', () => {
  it.each(expected)('%s become the %s', (values, object, expectation) => {
    expect(find(manifestsOf(values), object)?.spec).toMatchObject(expectation)
  })

  it.each([
    ['without-volumes', /StatefulSet|PodDisruptionBudget/],
    ['pods', /NetworkPolicy/],
    [
      'one-upstream',
      /Secret|HorizontalPodAutoscaler|Monitor|Ingress|HTTPRoute|CronJob|AccessPolic|-catalog$/,
    ],
    ['bundled-catalog-shared-claim', /ServiceAccount release-catalog-gateway-catalog/],
  ])('%s have no object %s', (values, pattern) => {
    const objects = manifestsOf(values).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(objects.filter((object) => pattern.test(object))).toEqual([])
  })

  it.each([
    ['pods', 'gateway', ''],
    ['bundled-catalog-replicas', 'catalog', 'catalog'],
  ])(
    '%s: what pods can be told is in the pod of the %s as it is written',
    async (values, component, part) => {
      const whole = getMembers(parse(await readFile(valuesFile(values), 'utf8')))
      const selected = part === '' ? whole : getMembers(whole[part])
      const { pod, annotations } =
        podsOf(manifestsOf(values)).find((each) => each.component === component) ?? {}
      const text = JSON.stringify(selected).replaceAll('{{ .Release.Name }}', 'release')
      const resolved = JSON.parse(text) as Readonly<Record<string, readonly object[]>>
      const keys = ['nodeSelector', 'tolerations', 'affinity', 'priorityClassName', 'imagePullSecrets']
      for (const key of [...keys, 'hostAliases', 'dnsPolicy', 'dnsConfig', 'initContainers']) {
        if (key in resolved) expect(pod, key).toMatchObject({ [key]: resolved[key] })
      }
      expect(pod).toMatchObject({
        topologySpreadConstraints: resolved['topologySpreadConstraints'],
        volumes: listed([...(resolved['extraVolumes'] ?? [])]),
        containers: [
          {
            env: listed([...(resolved['extraEnv'] ?? [])]),
            envFrom: resolved['extraEnvFrom'],
            lifecycle: resolved['lifecycle'],
            volumeMounts: listed([...(resolved['extraVolumeMounts'] ?? [])]),
          },
          ...(resolved['extraContainers'] ?? []),
        ],
      })
      expect(annotations).toMatchObject(resolved['podAnnotations'] ?? {})
    },
  )

  it('pods become a workload, an account, a Service and further objects with what they say', () => {
    const manifests = manifestsOf('pods')
    expect(find(manifests, `StatefulSet ${name}`)).toMatchObject({
      metadata: { annotations: { 'reloader.stakater.com/auto': 'true' } },
      spec: {
        minReadySeconds: 15,
        revisionHistoryLimit: 0,
        updateStrategy: { rollingUpdate: { partition: 1 } },
        template: {
          metadata: { labels: { 'example.com/tier': 'edge' } },
          spec: {
            serviceAccountName: 'gatekeeper',
            containers: [
              {
                image: `mirror.example/proxied/images.example/catalog-gateway@sha256:${'0123456789abcdef'.repeat(4)}`,
                imagePullPolicy: 'Always',
                resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } },
              },
              {},
            ],
          },
        },
      },
    })
    expect(find(manifests, 'ServiceAccount gatekeeper')).toMatchObject({
      metadata: { annotations: { 'example.com/role': 'gateway' } },
    })
    expect(find(manifests, `Service ${name}`)?.spec).toMatchObject({
      type: 'NodePort',
      trafficDistribution: 'PreferSameZone',
      ports: [{ nodePort: 30_080 }],
    })
    expect(find(manifests, `PodDisruptionBudget ${name}`)?.spec).toMatchObject({ maxUnavailable: '25%' })
    expect(find(manifests, 'ConfigMap release-runbook')?.data).toEqual({ service: name })
  })

  it.each(['one-upstream', 'bundled-catalog'])('%s are checked before pods change, and once', (values) => {
    const jobs = manifestsOf(values).filter(({ kind }) => kind === 'Job')
    expect(jobs.length).toBeGreaterThan(0)
    const annotations = { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-weight': '1' }
    for (const job of jobs)
      expect(job).toMatchObject({ metadata: { annotations }, spec: { backoffLimit: 0 } })
  })

  it('policy-resources become the roles of the gateway, in the delegated Kubernetes namespaces alone', () => {
    const manifests = manifestsOf('policy-resources')
    const roles = manifests.filter(({ kind }) => kind === 'Role')
    expect(roles).toMatchObject(['catalog-system', 'release-sales', 'models'].map(role))
    const bindings = manifests.filter(({ kind }) => kind === 'RoleBinding')
    expect(bindings).toHaveLength(roles.length)
    for (const binding of bindings) {
      expect(binding).toMatchObject({
        roleRef: { kind: 'Role', name: roles[0]?.metadata.name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
      })
    }
    expect(find(manifests, `ClusterRole default-${name}-policy-editor`)).toMatchObject({
      metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
    })
    expect(find(manifests, `ClusterRole default-${name}-policy-viewer`)).toMatchObject({
      rules: [{ verbs: ['get', 'list', 'watch'] }],
    })
    const sales = find(manifests, `ConfigMap default-${name}-delegations-release-sales`)
    expect(sales?.data).toMatchObject({
      catalogNamespaces: 'prod/sales\nstaging/sales',
      issuers: 'corp',
      groups: 'partner:sales',
      any: 'false',
      everyone: 'false',
    })
    for (const admission of ['accesspolicies.catalog-gateway.dev', `default-${name}-delegations`]) {
      expect(find(manifests, `ValidatingAdmissionPolicy ${admission}`)?.spec).toMatchObject({
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [{ operations: ['CREATE', 'UPDATE'], resources: ['accesspolicies'] }],
        },
      })
    }
    expect(find(manifests, 'CustomResourceDefinition accesspolicies.catalog-gateway.dev')).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
      spec: getMembers(parse(definition))['spec'] as object,
    })
  })

  it('of a Deployment have the strategy of updates in its own field', async () => {
    const words = ['--values', valuesFile('without-volumes'), '--set', 'updateStrategy.type=Recreate']
    const spec = find(await render(words), `Deployment ${name}`)?.spec
    expect(spec).toMatchObject({ strategy: { type: 'Recreate' } })
    expect(spec).not.toHaveProperty('updateStrategy')
  })

  it.each(programs)('pass helm lint of %s', async (program) => {
    const each = everyInTheLongForm(valuesNames, 6).map((values) =>
      helm(['lint', '--strict', chartFolder, '-f', valuesFile(values)], program),
    )
    for (const said of await Promise.all(each)) expect(said).toContain('1 chart(s) linted, 0 chart(s) failed')
  })

  it.skipIf(helms.length < 2)('render the same with each helm', async () => {
    for (const values of everyInTheLongForm(valuesNames, 6)) {
      const [one, other] = await Promise.all(
        helms.map((program) => render(['--values', valuesFile(values)], { program })),
      )
      expect(sorted(one), values).toEqual(sorted(other))
    }
  })
})

/** Without random data; helm versions order manifests differently. */
function sorted(manifests: readonly Manifest[] = []): readonly string[] {
  return manifests
    .map(({ data, ...rest }) => JSON.stringify({ ...rest, ...(rest.kind !== 'Secret' && { data }) }))
    .toSorted()
}
