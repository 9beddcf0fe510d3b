import { describe, expect, it } from 'vitest'
import { goldenManifests, podsOf, render, valuesFile, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

const podOf = (values: string, wanted: string) =>
  podsOf(goldenManifests(values)).find(({ component }) => component === wanted)?.pod

function specOf(manifests: readonly Manifest[], wanted: string): unknown {
  return manifests.find(({ kind, metadata }) => `${kind} ${metadata.name}` === wanted)?.spec
}

describe.each([
  {
    component: 'gateway',
    values: 'pods',
    workload: 'StatefulSet release-catalog-gateway',
    extra: { initContainer: 'authorities', sidecar: 'audit-shipper', delayMs: 1000, revisions: 0 },
  },
  {
    component: 'catalog',
    values: 'bundled-catalog-replicas',
    workload: 'StatefulSet release-catalog-gateway-catalog',
    extra: { initContainer: 'wait-for-database', sidecar: 'database-proxy', delayMs: 8000, revisions: 3 },
  },
])('the pods of a $component', ({ component, values, workload, extra }) => {
  it('have the init containers, sidecars, hooks, host aliases and DNS settings of the values', () => {
    const command = ['node', '-e', `setTimeout(() => {}, ${extra.delayMs})`]
    expect(podOf(values, component)).toMatchObject({
      initContainers: [{ name: extra.initContainer }],
      containers: [
        { name: component, lifecycle: { preStop: { exec: { command } } } },
        { name: extra.sidecar },
      ],
      hostAliases: [{}],
      dnsPolicy: 'ClusterFirst',
      dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
    })
  })

  it('are replaced as the values say', () => {
    expect(specOf(goldenManifests(values), workload)).toMatchObject({
      updateStrategy: { rollingUpdate: { partition: 1 } },
      minReadySeconds: 15,
      revisionHistoryLimit: extra.revisions,
    })
  })
})

it('the check has the init containers of the gateway, whose files it reads, but no sidecars', () => {
  expect(podOf('pods', 'check')).toMatchObject({
    initContainers: [{ name: 'authorities' }],
    containers: [{ name: 'check' }],
  })
})

it('the helm test has neither', () => {
  const pod = podOf('pods', 'test')
  expect(pod?.initContainers).toBeUndefined()
  expect(pod?.containers.map(({ name }) => name)).toEqual(['calls'])
})

it.skipIf(helms.length === 0)('a Deployment gets the strategy in its own field', async () => {
  const words = ['--values', valuesFile('without-volumes'), '--set', 'updateStrategy.type=Recreate']
  const spec = specOf(await render(words), 'Deployment release-catalog-gateway')
  expect(spec).toMatchObject({ strategy: { type: 'Recreate' } })
  expect(spec).not.toHaveProperty('updateStrategy')
})
