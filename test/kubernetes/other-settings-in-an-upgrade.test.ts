import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { installRelease, type Release, uidsOf } from './support/release.ts'

async function podsOf(release: Release) {
  return [...(await release.pods('gateway')), ...(await release.pods('catalog'))]
}

it('other settings of gateways restart gateways one at a time, and no catalog', async () => {
  const release = await installRelease(replicas)
  const before = await podsOf(release)
  const losses = await underLoad('other settings', release, async () => {
    await release.upgrade({ ...replicas, config: { log: { level: 'debug' } } })
  })
  expect(losses).toEqual(noLosses(losses))
  const uids = uidsOf(await podsOf(release))
  expect(uids.map((uid) => uidsOf(before).includes(uid))).toEqual([false, false, true])
})
