import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { verifyAuditLog } from '../../src/audit/verify.ts'
import { ofKind, recordsOf, temporaryFolder } from './entries.ts'

const limited = 'ulimit -f 64; exec "$0" --import tsx "$@"'

it.skipIf(process.platform === 'win32')(
  'a failing disk refuses changes, spoils nothing, and heals',
  async () => {
    const folder = await temporaryFolder()
    const program = join(import.meta.dirname, 'limited-process.ts')
    // The write really fails, with EFBIG, after a part of it has reached the file.
    const env = { ...process.env, TSX_DISABLE_CACHE: '1' }
    const run = promisify(execFile)('bash', ['-c', limited, process.execPath, program, folder], { env })
    const good = { writable: true, failed: 0, dropped: 0 }
    const bad = { writable: false, failure: 'EFBIG' }
    expect(JSON.parse((await run).stdout)).toEqual([
      { ...good, reasons: ['durable'] },
      { ...bad, reasons: ['disk', 'disk'], failed: 1, dropped: 0 },
      { ...good, reasons: ['durable'], failed: 1 },
      { ...bad, reasons: ['disk'], failed: 2, dropped: 1 },
      { ...good, reasons: [], failed: 2, dropped: 1 },
    ])

    const records = await recordsOf(folder)
    expect(ofKind(records, 'intent').map(({ request }) => request)).toEqual(['fits', 'fits again'])
    const gaps = ofKind(records, 'gap').map(({ dropped, refused }) => ({ dropped, refused }))
    expect(gaps).toEqual([
      { dropped: 0, refused: 2 },
      { dropped: 1, refused: 1 },
    ])
    expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 1, records: 7, unresolved: 2 })
  },
)
