import { spawnSync } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { canFailSyncs, programOf, withFailingSync, type FailingSync } from './failing-syncs.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'

const failures: (FailingSync & { what: string })[] = [
  { what: 'the segment whose end is cut off', call: 'fdatasync', which: '1' },
  { what: 'the beginning of the next chain', call: 'fdatasync', which: '2' },
  { what: 'the name of the next chain', call: 'fsync', which: '1' },
]

it.skipIf(!canFailSyncs).each(everyInTheLongForm(failures, 2))(
  'a start that cannot sync $what fails, leaves no chain, and loses nothing',
  async (failure) => {
    const folder = await temporaryFolder()
    const program = programOf('failing-sync-process.ts')
    expect(spawnSync(process.execPath, [...program, folder]).signal).toBe('SIGKILL')
    const crashed = await segmentsOf(folder)
    await appendFile(join(folder, crashed[0] ?? ''), '{"v":1,"unfinished')

    const started = withFailingSync(failure, process.execPath, ...program, folder)
    expect(started).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('EIO') })
    expect(await segmentsOf(folder)).toEqual(crashed)

    const log = await openAuditLog(logOptions(folder))
    expect(log.recovery.unresolved).toHaveLength(24)
    await log.close()
    expect(ofKind(await recordsOf(folder), 'intent')).toHaveLength(24)
    const report = await verifyAuditLog(folder, { keys: [await keyOf(folder)] })
    expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
  },
)
