import { open, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

const pauseMs = 20
/** A step takes milliseconds: whoever holds the lock for so long was killed in it. */
const timeoutMs = 2_000

/**
 * Runs a step while nobody else, in any process, runs one for that file; the lock is `<file>.lock`. Where that cannot be
 * had, the step runs all the same: it is for steps of which two at a time lose something, and break nothing.
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
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
    await pause(pauseMs)
  }
  await rm(lock, { force: true })
  return false
}
