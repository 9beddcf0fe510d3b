import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { canFailSyncs, programOf, withFailingSync, type FailingSync } from './failing-syncs.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'

// Seven records fill a segment. Before the first rotation, eight calls of fdatasync make its groups durable, and four calls of
// fsync the three files of keys and the segment name. A seal precedes the rotation.
const segmentBytes = '400000'
const full = 7
const failures: (FailingSync & { what: string; refused: number })[] = [
  { what: 'the segment that ends', call: 'fdatasync', which: '9', refused: 1 },
  { what: 'the segment that ends, again and again', call: 'fdatasync', which: '9..12', refused: 3 },
  { what: 'the folder', call: 'fsync', which: '5', refused: 1 },
  { what: 'the folder, again and again', call: 'fsync', which: '5..7', refused: 3 },
]

it.skipIf(!canFailSyncs).each(everyInTheLongForm(failures, 2))(
  'rejects records while $what cannot be synced at a rotation, and loses no accepted one',
  async ({ refused, ...failure }) => {
    const folder = await temporaryFolder()
    const program = programOf('failing-sync-process.ts')
    const { stdout, signal } = withFailingSync(failure, process.execPath, ...program, folder, segmentBytes)
    const states = stdout.trimEnd().split('\n')
    const isRefused = (n: number) => n >= full && n < full + refused
    expect(states).toEqual(
      Array.from({ length: 24 }, (_, n) => (isRefused(n) ? 'audit_write_failed' : 'durable')),
    )
    expect(signal).toBe('SIGKILL')

    await (await openAuditLog(logOptions(folder))).close()
    const found = ofKind(await recordsOf(folder), 'intent').map(({ request }) => request)
    expect(found).toEqual(states.flatMap((state, n) => (state === 'durable' ? [`${n}`] : [])))
    const report = await verifyAuditLog(folder, { keys: [await keyOf(folder)] })
    expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
  },
)

// A later sync of the folder does not guarantee a name that an earlier sync failed to write: the segment must be
// created again.
it.skipIf(!canFailSyncs)('removes a segment whose name cannot be made durable', async () => {
  const folder = await temporaryFolder()
  const program = programOf('failing-sync-process.ts')
  const { stdout } = withFailingSync(
    { call: 'fsync', which: '5' },
    process.execPath,
    ...program,
    folder,
    segmentBytes,
    '1',
  )
  expect(stdout.trimEnd().split('\n').slice(full)).toEqual(['audit_write_failed'])
  expect(await segmentsOf(folder)).toHaveLength(1)
})
