import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { ofKind, recordsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const limited = 'ulimit -f "$0"; exec "$1" --import tsx "${@:2}"'

it.skipIf(process.platform === 'win32')(
  'a disk that is full rejects changes, corrupts nothing, and recovers',
  async () => {
    const folder = await temporaryFolder()
    const program = join(import.meta.dirname, 'limited-process.ts')
    // The write really fails with EFBIG, after a part of it has reached the file.
    const env = { ...process.env, TSX_DISABLE_CACHE: '1' }
    const parameters = ['-c', limited, '64', process.execPath, program, folder]
    const run = promisify(execFile)('bash', parameters, { env })
    const good = { writable: true, failed: 0, dropped: 0 }
    const bad = { writable: false, failure: 'EFBIG' }
    expect(JSON.parse((await run).stdout)).toEqual([
      { ...good, reasons: ['durable'] },
      { ...bad, reasons: ['audit_write_failed', 'audit_write_failed'], failed: 1, dropped: 0 },
      { ...good, reasons: ['durable'], failed: 1 },
      { ...bad, reasons: ['audit_write_failed'], failed: 2, dropped: 1 },
      { ...good, reasons: [], failed: 2, dropped: 1 },
    ])

    const records = await recordsOf(folder)
    const requests = ofKind(records, 'intent').map(({ request }) => request)
    expect(requests).toEqual(['fits', 'fits again'])
    const gaps = ofKind(records, 'gap').map(({ dropped, refused }) => ({ dropped, refused }))
    expect(gaps).toEqual([
      { dropped: 0, refused: 2 },
      { dropped: 1, refused: 1 },
    ])
    expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 1, records: 7, unresolved: 2 })
  },
)
