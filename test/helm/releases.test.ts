import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { chartFolder, podsOf, podTemplatesOf, render, valuesFile, type Manifest } from './chart.ts'
import { helm, helms } from './helm-programs.ts'

const withHelm = it.skipIf(helms.length === 0)

const label = ['--set', 'commonLabels.team=data']

/** Parts of manifests that restart pods or that Kubernetes does not change. */
function withoutLabels(manifests: readonly Manifest[]): unknown {
  return manifests
    .filter(({ kind }) => kind !== 'Secret')
    .map(({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: {} } }))
}

withHelm.each(['bundled-catalog', 'monitoring', 'ingress', 'autoscaling'])(
  'common labels are on every object of %s, and change nothing else, pods included',
  async (name) => {
    const values = ['--values', valuesFile(name)]
    const [before, after] = [await render(values), await render([...values, ...label])]
    for (const { metadata } of after) expect(metadata.labels).toMatchObject({ team: 'data' })
    expect(withoutLabels(after)).toEqual(withoutLabels(before))
    expect(podTemplatesOf(after).length).toBeGreaterThan(1)
  },
)

withHelm('labels of a monitor override common ones', async () => {
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

withHelm('common labels cannot replace those of selectors', async () => {
  const words = ['--set', 'commonLabels.app\\.kubernetes\\.io/component=x']
  await expect(render(words)).rejects.toThrow('commonLabels')
})

const prefix = 'a-release-for-the-catalog-of-the-department-of'

async function names(release: string): Promise<readonly string[]> {
  return (await render([], { release })).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}

withHelm('long names of releases lead to different names, short enough for Services', async () => {
  const [sales, legal] = [await names(`${prefix}-sales`), await names(`${prefix}-law`)]
  expect(sales.filter((name) => legal.includes(name))).toEqual([])
  for (const name of [...sales, ...legal]) expect(name).toMatch(/^\w+ [a-z]([a-z0-9-]{0,61}[a-z0-9])$/)
})

withHelm('a name of the chart in this release replaces its own, references included', async () => {
  const words = ['--values', valuesFile('bundled-catalog'), '--set', 'fullnameOverride=gatekeeper']
  const manifests = await render(words)
  for (const { metadata } of manifests) expect(metadata.name).toMatch(/^gatekeeper(-|$)/)
  expect(JSON.stringify(manifests)).not.toContain('release-catalog-gateway')
})

withHelm('a new version of the chart and of the program changes no pod that runs a given image', async () => {
  const newer = await temporaryFolder()
  await cp(chartFolder, newer, { recursive: true })
  const file = join(newer, 'Chart.yaml')
  const chart = await readFile(file, 'utf8')
  await writeFile(file, chart.replaceAll(/^(version|appVersion): .*$/gm, '$1: 9.9.9'))
  const words = ['--values', valuesFile('bundled-catalog'), '--set', 'image.tag=1.2.3']
  const [before, after] = [await render(words), await render(words, { chart: newer })]
  expect(after).not.toEqual(before)
  expect(podTemplatesOf(after)).toEqual(podTemplatesOf(before))
  expect(podTemplatesOf(before).length).toBe(4)
})

async function environmentOfTest(...words: readonly string[]): Promise<unknown> {
  const pods = podsOf(await render(words))
  return pods.find(({ component }) => component === 'test')?.pod.containers[0]?.env
}

describe.skipIf(helms.length === 0)('helm test', () => {
  it('calls the gateway under its base path', async () => {
    expect(await environmentOfTest('--set', 'config.listen.basePath=/lance')).toContainEqual({
      name: 'TARGET',
      value: 'http://release-catalog-gateway:80/lance/v1/namespace/$/list',
    })
  })

  it('expects no refusal without a credential where callers may be anonymous', async () => {
    const anonymous = { name: 'ACCEPTS_ANONYMOUS', value: 'true' }
    const values = 'config.identity.anonymous=true,policies.existingConfigMaps[0]=policies'
    expect(await environmentOfTest('--set', values)).toContainEqual(anonymous)
    expect(await environmentOfTest()).not.toContainEqual(anonymous)
  })
})

const behindIngress = ['--set', 'ingress.enabled=true', '--set', 'ingress.hosts[0]=catalog.example']
const warning = 'Every caller has the address of the proxy in front of the pods'

/** Without a cluster, Helm 3 shows no notes. */
const [, helm4] = helms

it.skipIf(helm4 === undefined).each([
  ['without a proxy in front', [], false],
  ['behind an Ingress', behindIngress, true],
  [
    'behind an Ingress whose controller is trusted',
    [...behindIngress, '--set', 'config.listen.trustedProxies[0]=10.0.0.0/8'],
    false,
  ],
])('the notes say whether gateways see the addresses of clients: %s', async (_where, words, isWarned) => {
  const output = await helm(['install', 'lake', chartFolder, '--dry-run=client', ...words], helm4)
  expect(output).toContain('NOTES:')
  expect(output.includes(warning)).toBe(isWarned)
})
