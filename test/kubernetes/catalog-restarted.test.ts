import { expect, it } from 'vitest'
import { underLoad } from './support/load.ts'
import { installRelease } from './support/release.ts'

it('while the single catalog restarts, calls get typed errors, and no record is lost', async () => {
  const release = await installRelease({})
  const losses = await underLoad('a restart of the catalog', release, () => release.restart('catalog'))
  expect(losses.outageSeconds).toBeLessThan(30)
  expect(losses.lostRecords).toEqual([])
  expect(Object.keys(losses.failed).filter((reason) => !/^50[234] /.test(reason))).toEqual([])
  await release.untilServing()
})
