import { beforeAll, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import type { OutcomeEntry } from '../../../src/audit/records/audit-record.ts'
import { anIntent, committed, logOptions } from '../../audit/audit-fixtures.ts'
import { runCommand } from '../../support/run-command.ts'
import { makeTemporaryFolder, removeFolder } from '../../support/temporary-folder.ts'

const id = ['production', 'orders']
const people = ['production', 'people']
let folder = ''

/** Each in a record of its own, by request. */
const outcomes: Readonly<Record<string, Partial<OutcomeEntry>>> = {
  plain: { version: 6 },
  observed: { version: 6, versions: [{ id, version: 6, observed: true }] },
  several: { version: 9, outOfBand: [{ id, from: 7, to: 8 }] },
  one: { version: 11, outOfBand: [{ id, from: 10, to: 10 }] },
  branch: { version: 3, outOfBand: [{ id, branch: 'dev\u001b[2J', from: 1, to: 2 }] },
  batch: {
    version: undefined,
    outOfBand: [
      { id, from: 12, to: 13 },
      { id: people, branch: 'dev', from: 4, to: 4 },
    ],
  },
}

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  for (const [request, outcome] of Object.entries(outcomes)) {
    const batch = [id, people].map((each) => ({ operation: 'CreateTableVersion' as const, id: each }))
    const inBatch = { operation: 'BatchCreateTableVersions' as const, id: [], objects: batch }
    const intent = { ...anIntent(request), id, ...(request === 'batch' && inBatch) }
    await log.recordOutcome(await log.recordIntent(intent), { ...committed, ...outcome })
  }
  const { seq, request, tables } = await log.recordIntent({ ...anIntent('lost'), id })
  await log.recordOutcome({ seq, request, tables }, { result: 'unknown', durationMs: 1 })
  await log.recordResolution(
    { chain: log.chain, seq, request, tables },
    { result: 'undecided', evidence: 'nothing tells', lookups: 1, outOfBand: [{ id, from: 14, to: 15 }] },
  )
  const compared = { upstream: 'lake', id, before: 15 }
  await log.recordComparison({ ...compared, version: 17, outOfBand: [{ id, from: 16, to: 17 }] })
  await log.recordComparison({ ...compared, version: 3 })
  await log.close()
  return () => removeFolder(folder)
})

it('the result lists out-of-band versions', async () => {
  const { output } = await runCommand(['audit', 'query', folder])
  const results = output
    .split('\n')
    .filter((line) => / (outcome|resolved|comparison) /.test(line))
    .map((line) => line.slice(line.search(/committed|unknown|undecided|version/)))
  expect(results).toEqual([
    'committed version 6',
    'committed version 6 (observed)',
    'committed version 9; out of band: 7..8',
    'committed version 11; out of band: 10',
    'committed version 3; out of band: 1..2 on branch dev?[2J',
    'committed; out of band: production/orders 12..13, production/people 4 on branch dev',
    'unknown',
    'undecided: nothing tells; out of band: 14..15',
    'version 17 after 15; out of band: 16..17',
    'version 3 after 15',
  ])
})
