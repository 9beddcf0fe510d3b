import { spawnSync } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'
import { isProvided } from '../../support/requirements.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A sync system call, and which of its calls fail, counted from 1 (strace(1), `when`). */
interface FailingSync {
  readonly call: 'fdatasync' | 'fsync'
  readonly which: string
}

/** Runs a program while the kernel returns EIO for those calls, because real disks do not fail on demand. */
function withFailingSync({ call, which }: FailingSync, ...command: string[]) {
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:error=EIO:when=${which}`]
  // Single-threaded, because strace counts calls per thread.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1', TSX_DISABLE_CACHE: '1' }
  return spawnSync('strace', ['-f', '-o', '/dev/null', ...inject, '--', ...command], {
    env,
    encoding: 'utf8',
  })
}

const program = ['--import', 'tsx', join(import.meta.dirname, 'failing-sync-process.ts')]
const runFailing = (failure: FailingSync, ...parameters: string[]) =>
  withFailingSync(failure, process.execPath, ...program, ...parameters)

const canFailSyncs = isProvided(
  'strace that can make syncs fail',
  () => withFailingSync({ call: 'fdatasync', which: '1' }, 'sync', '-d', import.meta.filename).status === 1,
)
const withStrace = it.skipIf(!canFailSyncs)

async function expectIntactLog(folder: string): Promise<void> {
  const report = await verifyAuditLog(folder, [await keyOf(folder)])
  expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
}

interface Failure extends FailingSync {
  readonly what: string
  /** How many records are refused, after how many accepted ones. */
  readonly refused: number
  readonly after: number
  readonly segmentBytes?: string
}

// The first sync belongs to the creation of the file, then there is one for each record. If it fails, the truncated file is
// synced immediately, and again before the next record if that fails, too.
const file = { what: 'the file', call: 'fdatasync', after: 15 } as const
// Seven records fill a segment. Before the first rotation, eight calls of fdatasync make its groups durable, and four calls of
// fsync the three files of keys and the segment name. A seal precedes the rotation.
const segmentBytes = '400000'
const atRotation = { after: 7, segmentBytes }
const failures: readonly Failure[] = [
  { ...file, which: '17..19', refused: 2 },
  { ...file, which: '17', refused: 1 },
  { ...file, which: '17+', refused: 9 },
  { ...atRotation, what: 'the segment that ends', call: 'fdatasync', which: '9', refused: 1 },
  { ...atRotation, what: 'the segment that ends', call: 'fdatasync', which: '9..12', refused: 3 },
  { ...atRotation, what: 'the folder at a rotation', call: 'fsync', which: '5', refused: 1 },
  { ...atRotation, what: 'the folder at a rotation', call: 'fsync', which: '5..7', refused: 3 },
]

withStrace.each(failures)(
  'rejects records while $what cannot be synced ($which), and loses no accepted one',
  async ({ refused, after, segmentBytes, ...failure }) => {
    const folder = await temporaryFolder()
    const { stdout, signal } = runFailing(
      failure,
      folder,
      ...(segmentBytes === undefined ? [] : [segmentBytes]),
    )
    const states = stdout.trimEnd().split('\n')
    const isRefused = (n: number) => n >= after && n < after + refused
    expect(states).toEqual(
      Array.from({ length: 24 }, (_, n) => (isRefused(n) ? 'audit_write_failed' : 'durable')),
    )
    expect(signal).toBe('SIGKILL')

    await (await openAuditLog(logOptions(folder))).close()
    const found = ofKind(await recordsOf(folder), 'intent').map(({ request }) => request)
    expect(found).toEqual(states.flatMap((state, n) => (state === 'durable' ? [`${n}`] : [])))
    await expectIntactLog(folder)
  },
)

// A later sync of the folder does not guarantee a name that an earlier sync failed to write: the segment must be
// created again.
withStrace('removes a segment whose name cannot be made durable', async () => {
  const folder = await temporaryFolder()
  const { stdout } = runFailing({ call: 'fsync', which: '5' }, folder, segmentBytes, '1')
  expect(stdout.trimEnd().split('\n').slice(atRotation.after)).toEqual(['audit_write_failed'])
  expect(await segmentsOf(folder)).toHaveLength(1)
})

const failuresInRecovery: (FailingSync & { what: string })[] = [
  { what: 'the segment whose end is cut off', call: 'fdatasync', which: '1' },
  { what: 'the beginning of the next chain', call: 'fdatasync', which: '2' },
  { what: 'the name of the next chain', call: 'fsync', which: '1' },
]

withStrace.each(failuresInRecovery)(
  'a start that cannot sync $what fails, leaves no chain, and loses nothing',
  async (failure) => {
    const folder = await temporaryFolder()
    expect(spawnSync(process.execPath, [...program, folder]).signal).toBe('SIGKILL')
    const crashed = await segmentsOf(folder)
    await appendFile(join(folder, crashed[0] ?? ''), '{"v":1,"unfinished')

    const started = runFailing(failure, folder)
    expect(started).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('EIO') })
    expect(await segmentsOf(folder)).toEqual(crashed)

    const log = await openAuditLog(logOptions(folder))
    expect(log.recovery.unresolved).toHaveLength(24)
    await log.close()
    expect(ofKind(await recordsOf(folder), 'intent')).toHaveLength(24)
    await expectIntactLog(folder)
  },
)
