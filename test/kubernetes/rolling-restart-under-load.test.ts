import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { installRelease, uidsOf } from './support/release.ts'

it('a rolling restart loses no request and no audit record', async () => {
  const release = await installRelease({ replicaCount: 2, pageTokens: { existingSecret: 'page-tokens' } })
  const before = uidsOf(await release.pods('gateway'))
  const losses = await underLoad('a rolling restart', release, () => release.restart('gateway'))
  expect(losses).toEqual(noLosses(losses))
  expect(losses.changes).toBeGreaterThan(100)
  expect(uidsOf(await release.pods('gateway')).filter((uid) => before.includes(uid))).toEqual([])
})
