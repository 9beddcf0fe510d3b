import { expect, it } from 'vitest'
import { underLoad } from './support/load.ts'
import { installRelease, uidsOf } from './support/release.ts'

it('an upgrade of the catalog costs a short outage with typed errors, and no audit record', async () => {
  const values = { replicaCount: 2, pageTokens: { existingSecret: 'page-tokens' } }
  const release = await installRelease(values)
  const before = uidsOf(await release.pods('catalog'))
  const losses = await underLoad('an upgrade of the catalog', release, async () => {
    await release.upgrade({ ...values, catalog: { podAnnotations: { revision: '2' } } })
  })
  expect(uidsOf(await release.pods('catalog')).filter((uid) => before.includes(uid))).toEqual([])
  expect(losses.outageSeconds).toBeGreaterThan(0)
  // Some ten seconds; machines that run tests are slow.
  expect(losses.outageSeconds).toBeLessThan(60)
  // A change that was under way may have been done.
  for (const failure of Object.keys(losses.failed)) expect(failure).toMatch(/^(424|50[23]) \w/)
  expect(losses.lostRecords).toEqual([])
})
