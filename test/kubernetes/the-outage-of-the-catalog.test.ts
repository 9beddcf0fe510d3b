import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { underLoad } from './support/load.ts'
import { installRelease, uidsOf, type Release } from './support/release.ts'

const pollMs = 50

/** Resolves with the time from the first failed call to the last one, in milliseconds. */
async function measureOutage({ url, apiKey }: Release, signal: AbortSignal): Promise<number> {
  let first: number | undefined
  let last = 0
  while (!signal.aborted) {
    const start = Date.now()
    const { ok } = await fetch(`${url}/v1/namespace/$/list`, { headers: { 'x-api-key': apiKey } })
    if (!ok) {
      first ??= start
      last = Date.now()
    }
    await setTimeout(pollMs)
  }
  return first === undefined ? 0 : last - first
}

it('an upgrade of the catalog costs a short outage with typed errors, and no audit record', async () => {
  const values = { replicaCount: 2, pageTokens: { existingSecret: 'page-tokens' } }
  const release = await installRelease(values)
  const before = uidsOf(await release.pods('catalog'))
  const ending = new AbortController()
  const measured = measureOutage(release, ending.signal)
  const losses = await underLoad('an upgrade of the catalog', release, async () => {
    await release.upgrade({ ...values, catalog: { podAnnotations: { revision: '2' } } })
  })
  ending.abort()
  const outageMs = await measured
  console.info(`The outage of the catalog took ${outageMs} ms.`)
  expect(uidsOf(await release.pods('catalog')).filter((uid) => before.includes(uid))).toEqual([])
  expect(outageMs).toBeGreaterThan(0)
  // Some ten seconds; machines that run tests are slow.
  expect(outageMs).toBeLessThan(60_000)
  for (const failure of Object.keys(losses.failed)) expect(failure).toMatch(/^50[23] \w/)
  expect(losses.lostRecords).toEqual([])
})
