import { expect, it } from 'vitest'
import { planLookups, type InDoubtChange } from '../../../src/audit/in-doubt/in-doubt-changes.ts'
import { KnownVersions } from '../../../src/audit/in-doubt/known-versions.ts'
import { createOutcomeResolver } from '../../../src/gateway/changes/outcome-resolver.ts'
import { anIntent } from '../../audit/intent-fixtures.ts'
import { eventually } from '../../support/eventually.ts'

function inDoubtChanges(count: number): InDoubtChange[] {
  return Array.from({ length: count }, (_, seq) => {
    const entry = { ...anIntent(`request-${seq}`), upstream: 'gone' }
    const intent = { chain: 'c', seq, request: entry.request, tables: [['production', `table-${seq}`]] }
    return { intent, entry, lookups: planLookups(entry), since: 0 }
  })
}

function createResolver(recordResolution: () => Promise<void>) {
  const known = new KnownVersions()
  return createOutcomeResolver({
    audit: { recordResolution },
    known,
    upstreams: [],
    onResolved: () => undefined,
  })
}

it('decides changes of many tables at a cost that grows with their number', async () => {
  const costs: number[] = []
  for (const size of [500, 2_000, 8_000]) {
    let resolved = 0
    const resolver = createResolver(() => Promise.resolve(void (resolved += 1)))
    const before = process.cpuUsage()
    for (const change of inDoubtChanges(size)) resolver.add(change)
    await eventually(() => expect(resolved).toBe(size))
    const { user, system } = process.cpuUsage(before)
    costs.push(user + system)
    await resolver.close()
  }
  // The first run also compiles.
  const [, small = 0, large = 0] = costs
  expect(large / small).toBeLessThanOrEqual(9)
})
