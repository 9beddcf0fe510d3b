import { randomBytes } from 'node:crypto'
import { open, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { getMembers } from '../json/json-values.ts'
import { hasErrorCode, ignoreMissing } from '../errors.ts'

/** The holder refreshes the lock; the lock of another host counts as abandoned after `abandonedMs`. */
const refreshMs = 10_000
const abandonedMs = 60_000

/** How long a step waits for the lock of another one, and how long before it tries again. */
const timeoutMs = 5_000
const retryMs = 50

/** The lock is held by a process that is alive, or that is on another host and was alive a minute ago. */
class FileLockedError extends Error {
  override readonly name = 'FileLockedError'
  readonly code = 'ELOCKED'
}

export interface FileLock {
  /** False if another process has taken over the lock, or may have: this one was stopped for too long to refresh it. */
  isHeld(): boolean
  release(): Promise<void>
}

/** Identifies a process. Containers reuse process ids, and several hosts may share a volume: hence all three. */
interface LockHolder {
  readonly pid: number
  readonly host: string
  /** Start time of the process in the units of the Linux kernel; null on other systems. */
  readonly began: string | null
}

/**
 * Creates a lock file. Throws FileLockedError if another process holds it. The lock of a dead process is taken over:
 * immediately if it ran on this host, otherwise after a minute without a refresh.
 */
export async function lockFile(path: string): Promise<FileLock> {
  const self: LockHolder = {
    pid: process.pid,
    host: hostname(),
    began: (await readProcessStart(process.pid)) ?? null,
  }
  const content = JSON.stringify({ ...self, token: randomBytes(8).toString('hex') })
  for (;;) {
    try {
      await createFile(path, content)
      return createLock(path, content)
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error
    }
    await removeAbandonedLock(path, self)
  }
}

/** Runs a step of milliseconds under the lock, which it awaits for five seconds. Throws FileLockedError after that. */
export async function withFileLock<Result>(path: string, step: () => Promise<Result>): Promise<Result> {
  const lock = await waitForLock(path)
  try {
    return await step()
  } finally {
    await lock.release()
  }
}

async function waitForLock(path: string): Promise<FileLock> {
  const until = Date.now() + timeoutMs
  for (;;) {
    try {
      return await lockFile(path)
    } catch (error) {
      if (!(error instanceof FileLockedError) || Date.now() >= until) throw error
    }
    await pause(retryMs)
  }
}

async function createFile(path: string, content: string): Promise<void> {
  const handle = await open(path, 'wx', 0o640)
  try {
    await handle.writeFile(content)
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await handle.close()
  }
}

function createLock(path: string, content: string): FileLock {
  let isLost = false
  // Wall-clock time: others compare that of the file, and other clocks stand still while a machine is suspended.
  let refreshed = Date.now()
  const refresh = async (): Promise<void> => {
    const now = new Date(Date.now())
    if ((await readIfPresent(path)) === content) {
      await utimes(path, now, now)
      refreshed = now.getTime()
    } else isLost = true
  }
  // The next write of the holder reports a failing disk; the lock remains unchanged.
  const timer = setInterval(() => void refresh().catch(() => undefined), refreshMs).unref()
  return {
    isHeld: () => !isLost && Date.now() - refreshed < abandonedMs,
    async release() {
      clearInterval(timer)
      if ((await readIfPresent(path)) === content) await unlink(path)
    },
  }
}

/** Removes the lock of a dead holder. Throws if the holder is alive. */
async function removeAbandonedLock(path: string, self: LockHolder): Promise<void> {
  // No other process may remove and retake the lock between the check and the removal: the guard serializes them.
  const guard = `${path}.removing`
  try {
    await createFile(guard, '')
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
    if (await isAbandoned(guard)) await unlink(guard).catch(ignoreMissing)
    return pause(20)
  }
  try {
    const content = await readIfPresent(path)
    if (content === undefined) return
    const holder = parseHolder(content)
    const isHolderAlive = holder?.host === self.host ? await isAlive(holder) : !(await isAbandoned(path))
    if (isHolderAlive) {
      const name = holder ? `process ${holder.pid} on host ${holder.host}` : 'another process'
      const advice = holder?.host === self.host ? '' : '; if it was copied with its folder, remove it'
      throw new FileLockedError(`${path} is in use by ${name}${advice}`)
    }
    await unlink(path)
  } finally {
    await unlink(guard).catch(ignoreMissing)
  }
}

async function isAlive(holder: LockHolder): Promise<boolean> {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if (hasErrorCode(error, 'ESRCH')) return false
  }
  return holder.began === null || (await readProcessStart(holder.pid)) === holder.began
}

/** Reads field 22 of /proc/PID/stat (proc(5)). Undefined for a zombie, a missing process, and without /proc. */
async function readProcessStart(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

function parseHolder(content: string): LockHolder | undefined {
  try {
    const { pid, host, began } = getMembers(JSON.parse(content))
    if (typeof pid !== 'number' || typeof host !== 'string') return undefined
    return { pid, host, began: typeof began === 'string' ? began : null }
  } catch {
    // Read before its first byte was written, or truncated by a crash: its age decides.
    return undefined
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreMissing)
}

async function isAbandoned(path: string): Promise<boolean> {
  const modified = (await stat(path).catch(ignoreMissing))?.mtimeMs
  return modified !== undefined && Date.now() - modified >= abandonedMs
}
