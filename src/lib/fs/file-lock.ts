import { open, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { hasErrorCode } from './system-error.ts'

const pauseMs = 20
/** Steps take milliseconds: the holder of an older lock was killed. */
const timeoutMs = 2_000

/**
 * Runs `step` under an exclusive lock for the file across processes; the lock is `<file>.lock`. If the lock cannot be
 * acquired, the step still runs: concurrent steps must at worst lose an update, never corrupt anything.
 */
export async function withFileLock(file: string, step: () => Promise<void>): Promise<void> {
  const lock = `${file}.lock`
  const isHeld = await acquireLock(lock)
  try {
    await step()
  } finally {
    if (isHeld) await rm(lock, { force: true })
  }
}

async function acquireLock(lock: string): Promise<boolean> {
  for (let waited = 0; waited < timeoutMs; waited += pauseMs) {
    try {
      await (await open(lock, 'wx', 0o600)).close()
      return true
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) return false
    }
    await pause(pauseMs)
  }
  await rm(lock, { force: true })
  return false
}
