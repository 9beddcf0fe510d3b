import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** A sync system call, and which of its calls fail, counted from 1 (strace(1), `when`). */
export interface FailingSync {
  readonly call: 'fdatasync' | 'fsync'
  readonly which: string
}

/** Runs a program while the kernel returns EIO for those calls, because real disks do not fail on demand. */
export function withFailingSync({ call, which }: FailingSync, ...command: string[]) {
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:error=EIO:when=${which}`]
  // Single-threaded, because strace counts calls per thread.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1', TSX_DISABLE_CACHE: '1' }
  return spawnSync('strace', ['-f', '-o', '/dev/null', ...inject, '--', ...command], {
    env,
    encoding: 'utf8',
  })
}

/** Node arguments to run a program of this folder. */
export function programOf(file: string): string[] {
  return ['--import', 'tsx', join(import.meta.dirname, file)]
}

/** Whether strace can inject sync failures on this machine. */
export const canFailSyncs =
  withFailingSync({ call: 'fdatasync', which: '1' }, 'sync', '-d', import.meta.filename).status === 1
if (!canFailSyncs)
  console.warn('SKIPPED: the tests of syncs that fail, as strace cannot make them fail here.')
