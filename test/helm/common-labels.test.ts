import { expect, it } from 'vitest'
import { podTemplatesOf, render, valuesFile, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

const label = ['--set', 'commonLabels.team=data']

/** Parts of manifests that restart pods or that Kubernetes does not change. */
function withoutLabels(manifests: readonly Manifest[]): unknown {
  return manifests
    .filter(({ kind }) => kind !== 'Secret')
    .map(({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: {} } }))
}

it.skipIf(helms.length === 0).each(['bundled-catalog', 'monitoring', 'ingress', 'autoscaling'])(
  'common labels are on every object of %s, and change nothing else, pods included',
  async (name) => {
    const values = ['--values', valuesFile(name)]
    const [before, after] = [await render(values), await render([...values, ...label])]
    for (const { metadata } of after) expect(metadata.labels).toMatchObject({ team: 'data' })
    expect(withoutLabels(after)).toEqual(withoutLabels(before))
    expect(podTemplatesOf(after).length).toBeGreaterThan(1)
  },
)

it.skipIf(helms.length === 0)('labels of a monitor override common ones', async () => {
  const words = [
    '--values',
    valuesFile('monitoring'),
    ...label,
    '--set',
    'serviceMonitor.labels.team=metrics',
  ]
  const monitor = (await render(words)).find(({ kind }) => kind === 'ServiceMonitor')
  expect(monitor?.metadata.labels).toMatchObject({ team: 'metrics' })
})

it.skipIf(helms.length === 0)('common labels cannot replace those of selectors', async () => {
  const words = ['--set', 'commonLabels.app\\.kubernetes\\.io/component=x']
  await expect(render(words)).rejects.toThrow('commonLabels')
})
