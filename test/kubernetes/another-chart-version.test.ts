import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { chartFolder } from '../helm/chart.ts'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { countRestarts, installRelease, type Release, uidsOf } from './support/release.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const values = { ...replicas, image: { tag: 'fixed' } }

async function createNextChart(): Promise<string> {
  const chart = join(await temporaryFolder(), 'chart')
  await cp(chartFolder, chart, { recursive: true })
  const file = join(chart, 'Chart.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(
    file,
    text.replace(/^version: .*$/m, 'version: 99.0.0').replace(/^appVersion: .*$/m, 'appVersion: 99.0.0'),
  )
  return chart
}

async function podsOf(release: Release) {
  return [...(await release.pods('gateway')), ...(await release.pods('catalog'))]
}

it('another version of the chart with the same image restarts nothing', async () => {
  const release = await installRelease(values)
  const before = await podsOf(release)
  const losses = await underLoad('another version of the chart', release, async () => {
    await release.upgrade(values, { chart: await createNextChart() })
  })
  expect(losses).toEqual(noLosses(losses))
  const after = await podsOf(release)
  expect(uidsOf(after)).toEqual(uidsOf(before))
  expect(countRestarts(after)).toBe(0)
  const { metadata } = await release.namespace.client.get(release.workload('gateway'))
  expect(metadata).toMatchObject({ labels: { 'app.kubernetes.io/version': '99.0.0' } })
})

it('other settings of gateways restart gateways one at a time, and no catalog', async () => {
  const release = await installRelease(values)
  const before = await podsOf(release)
  const losses = await underLoad('other settings', release, async () => {
    await release.upgrade({ ...values, config: { log: { level: 'debug' } } })
  })
  expect(losses).toEqual(noLosses(losses))
  const uids = uidsOf(await podsOf(release))
  expect(uids.map((uid) => uidsOf(before).includes(uid))).toEqual([false, false, true])
})
