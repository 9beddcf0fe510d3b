import { EventEmitter, once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { TableHistory } from '../../../src/audit/in-doubt/table-history.ts'
import { AuditUnavailable } from '../../../src/audit/log/audit-unavailable.ts'
import type { ComparisonEntry } from '../../../src/audit/records/audit-record.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { startVersionComparer, type ComparisonRound } from '../../../src/gateway/changes/version-comparer.ts'
import { createUpstreams } from '../../../src/gateway/upstream/upstreams.ts'
import { fixed } from '../../../src/lib/fs/follow-files.ts'
import { directOpener } from '../../support/direct-opener.ts'
import { eventually } from '../../support/eventually.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { getHeaderValues, respondWith, startRecordingUpstream } from '../support/recording-upstream.ts'

/** Compares two tables whose newest version is `version`, with a log that records while `isWritable`. */
async function compareTables() {
  const recording = await startRecordingUpstream()
  onTestFinished(() => recording.close())
  const upstreams = createUpstreams([
    {
      ...upstreamSchema.parse({ url: recording.url }),
      compareVersionsSeconds: 0.05,
      opener: directOpener,
      credentials: fixed(['x-api-key', 'of-the-gateway']),
    },
  ])
  onTestFinished(() => upstreams.close())
  const state = { version: 1, isWritable: true }
  const list = serveListings({ tables: { '': ['t', 'u'] }, namespaces: { '': [] } })
  recording.answering = (...request) =>
    (request[0].target.endsWith('/version/describe')
      ? respondWith(200, { version: { version: state.version } })
      : list)(...request)
  const recorded: ComparisonEntry[] = []
  const reported: ComparisonEntry[] = []
  const rounds: ComparisonRound[] = []
  const events = new EventEmitter()
  const comparer = startVersionComparer({
    audit: {
      recordComparison: async (entry) => {
        if (!state.isWritable) throw new AuditUnavailable('audit_disk_full')
        recorded.push(entry)
      },
    },
    history: new TableHistory(),
    upstreams,
    onDifference: (entry) => reported.push(entry),
    onRound(round) {
      rounds.push(round)
      events.emit('round')
    },
  })
  onTestFinished(() => comparer.close())
  /** Resolves between two rounds: a change of `state` then applies to whole rounds. */
  const nextRounds = async (count: number) => {
    for (let ended = 0; ended < count; ended += 1) await once(events, 'round')
    return rounds.at(-1)
  }
  return { recording, state, comparer, nextRounds, recorded, reported, rounds }
}

it('a difference that the audit log could not record is recorded later, once', async () => {
  const { state, nextRounds, recorded, reported } = await compareTables()
  expect(await nextRounds(1)).toEqual({ upstream: 'catalog', tables: 2, problem: undefined })
  state.isWritable = false
  state.version = 3
  expect(await nextRounds(3)).toMatchObject({ tables: 0, problem: expect.stringContaining('audit log') })
  expect([recorded, reported]).toEqual([[], []])
  state.version = 4
  state.isWritable = true
  expect(await nextRounds(3)).toMatchObject({ tables: 2, problem: undefined })
  expect(reported).toEqual(recorded)
  expect(recorded.map(({ id, before, version }) => [id[0], before, version])).toEqual([
    ['t', 1, 3],
    ['t', 3, 4],
    ['u', 1, 4],
  ])
})

it('reads with the credential of the gateway, and stops at its close', async () => {
  const { recording, comparer, nextRounds, rounds } = await compareTables()
  await nextRounds(1)
  for (const request of recording.requests) {
    expect(getHeaderValues(request, 'x-api-key')).toEqual(['of-the-gateway'])
    expect(getHeaderValues(request, 'x-request-id')).toHaveLength(1)
  }
  recording.answering = () => undefined
  const sent = recording.requests.length
  await eventually(() => expect(recording.requests.length).toBeGreaterThan(sent))
  const ended = [recording.requests.length, rounds.length]
  await comparer.close()
  expect([recording.requests.length, rounds.length]).toEqual(ended)
})
