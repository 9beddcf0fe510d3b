import { expect, it } from 'vitest'
import { chartFolder } from '../helm/chart.ts'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { countRestarts, installRelease, isReady, killContainer, uidsOf, until } from './support/release.ts'

/** The schema of the values cannot know that the file does not exist. */
const bad = { ...replicas, config: { listing: { tokenKeyFile: 'secrets/missing/key' } } }

it('settings that name a missing file fail the upgrade, and the old pods serve', async () => {
  const release = await installRelease(replicas)
  const before = await release.pods('gateway')
  const losses = await underLoad('bad settings in an upgrade', release, async () => {
    await expect(release.upgrade(bad)).rejects.toThrow('secrets/missing/key does not exist')
  })
  expect(losses).toEqual(noLosses(losses))
  expect(uidsOf(await release.pods('gateway'))).toEqual(uidsOf(before))
  expect(countRestarts(await release.pods('gateway'))).toBe(0)
})

it('an image that cannot be pulled fails the upgrade, default values included, and the old pods serve', async () => {
  const release = await installRelease({})
  const pods = async () => [...(await release.pods('gateway')), ...(await release.pods('catalog'))]
  const before = await pods()
  const losses = await underLoad('a wrong image in an upgrade', release, async () => {
    const wrong = ['--set', 'image.repository=nginx', '--wait', '--timeout', '20s']
    await expect(release.helm(['upgrade', 'demo', chartFolder, ...wrong])).rejects.toThrow(
      'pre-upgrade hooks failed',
    )
  })
  expect(losses).toEqual(noLosses(losses))
  expect(uidsOf(await pods())).toEqual(uidsOf(before))
})

it('without the check the new pod fails, the old one serves, also after a restart, and a rollback helps', async () => {
  const release = await installRelease(replicas)
  const losses = await underLoad('bad settings without a check', release, async () => {
    await release.upgrade({ ...bad, check: { enabled: false } }, { isAwaited: false })
    await until(async () => countRestarts(await release.pods('gateway')) >= 2)
  })
  expect(losses).toEqual(noLosses(losses))
  const old = (await release.pods('gateway')).filter(isReady)
  expect(old.map(({ metadata }) => metadata?.name)).toEqual(['demo-catalog-gateway-0'])
  for (const pod of old) await killContainer(pod, 'gateway')
  await until(async () =>
    (await release.pods('gateway')).some((pod) => isReady(pod) && countRestarts([pod]) === 1),
  )
  await release.untilServing()
  const rollback = await underLoad('a rollback of bad settings', release, async () => {
    await release.helm(['rollback', 'demo', '1', '--wait', '--timeout', '2m'])
    await until(async () => (await release.pods('gateway')).every(isReady))
  })
  expect(rollback).toEqual(noLosses(rollback))
})
