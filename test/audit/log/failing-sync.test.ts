import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { logOptions, ofKind, recordsOf } from '../audit-fixtures.ts'
import { canFailSyncs, programOf, withFailingSync } from './failing-syncs.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// The first sync belongs to the creation of the file, then there is one for each record. If it fails, the truncated file is
// synced immediately, and again before the next record if that fails, too.
const cases = [
  { which: '17..19', refused: 2 },
  { which: '17', refused: 1 },
  { which: '17+', refused: 9 },
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

    await (await openAuditLog(logOptions(folder))).close()
    const found = ofKind(await recordsOf(folder), 'intent').map(({ request }) => request)
    expect(found).toEqual(states.flatMap((state, n) => (state === 'durable' ? [`${n}`] : [])))
    const report = await verifyAuditLog(folder, { keys: [await keyOf(folder)] })
    expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
  },
)
