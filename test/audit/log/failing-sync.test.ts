import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { logOptions, ofKind, recordsOf } from '../audit-fixtures.ts'
import { canFailSyncs, programOf, withFailingSync } from './failing-syncs.ts'
import { keyOf } from '../verify/forge-log.ts'
import { cutPower } from '../storage/power-cut.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// The first sync belongs to the creation of the file, the second to the record that does not fit into the full journal.
// If it fails, the file is synced again immediately, and with each further record.
const cases = [
  { which: '2..4', refused: 2 },
  { which: '2', refused: 1 },
  { which: '2+', refused: 9 },
]

it.skipIf(!canFailSyncs).each(everyInTheLongForm(cases, 3))(
  'rejects records while the file cannot be synced ($which), and loses no accepted one',
  async ({ which, refused }) => {
    const folder = await temporaryFolder()
    const program = programOf('failing-sync-process.ts')
    const { stdout, signal } = withFailingSync(
      { call: 'fdatasync', which },
      process.execPath,
      ...program,
      folder,
    )
    const states = stdout.trimEnd().split('\n')
    const expected = Array.from({ length: 24 }, (_, n) =>
      n >= 15 && n < 15 + refused ? 'audit_write_failed' : 'durable',
    )
    expect(states).toEqual(expected)
    expect(signal).toBe('SIGKILL')

    await cutPower(folder)
    await (await openAuditLog(logOptions(folder))).close()
    const found = ofKind(await recordsOf(folder), 'intent').map(({ request }) => request)
    expect(found).toEqual(states.flatMap((state, n) => (state === 'durable' ? [`${n}`] : [])))
    const report = await verifyAuditLog(folder, { keys: [await keyOf(folder)] })
    expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
  },
)
