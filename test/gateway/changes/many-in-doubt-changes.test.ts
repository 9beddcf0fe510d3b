import { pino } from 'pino'
import { expect, it } from 'vitest'
import { type ChangeTracker, startChangeTracker } from '../../../src/gateway/changes/change-tracker.ts'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'
import { anIntent } from '../../audit/intent-fixtures.ts'
import { expectLinearCost } from '../../support/cost-growth.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function startTracker(recordResolution: () => Promise<void>) {
  return startChangeTracker({
    audit: { recordResolution, recordOutcome: () => Promise.resolve() },
    folder: await temporaryFolder(),
    upstreams: { all: [] },
    metrics: createMetrics('0.0.0'),
    log: pino({ level: 'silent' }),
    times: { gracePeriodMs: 0 },
  })
}

async function loseOutcomes(tracker: ChangeTracker, count: number): Promise<void> {
  for (let seq = 0; seq < count; seq += 1) {
    const entry = { ...anIntent(`request-${seq}`), upstream: 'gone' }
    const intent = { chain: 'c', seq, request: entry.request, tables: [['production', `table-${seq}`]] }
    const written = { entry, receipt: Promise.resolve(intent), awaitsOutcome: true }
    await tracker.recordOutcome(written, { result: 'unknown' })
  }
}

it('decides changes of many tables at a cost that grows with their number', async () => {
  await expectLinearCost(2_000, (size) => async () => {
    let resolved = 0
    const tracker = await startTracker(() => Promise.resolve(void (resolved += 1)))
    await loseOutcomes(tracker, size)
    await eventually(() => expect(resolved).toBe(size))
    await tracker.close()
  })
})
