import { randomBytes } from 'node:crypto'
import { open, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { getMembers, parseJsonBytes } from '../json/json-values.ts'
import { hasErrorCode, ignoreMissing } from '../errors.ts'

/** The holder refreshes the lock; the lock of another host counts as abandoned after `abandonedMs`. */
const refreshMs = 10_000
const abandonedMs = 60_000

/** How long a step waits for the lock of another one, and how long before it tries again. */
const timeoutMs = 5_000
const retryMs = 20

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
 * Creates a lock file. Throws ELOCKED if another process still holds it after `waitMs`. The lock of a dead process is taken over:
 * immediately if it ran on this host, otherwise after a minute without a refresh.
 */
export async function lockFile(path: string, waitMs = 0): Promise<FileLock> {
  const self: LockHolder = {
    pid: process.pid,
    host: hostname(),
    began: (await readProcessStart(process.pid)) ?? null,
  }
  const content = JSON.stringify({ ...self, token: randomBytes(8).toString('hex') })
  const until = Date.now() + waitMs
  for (;;) {
    try {
      await createFile(path, content)
      return createLock(path, content)
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error
    }
    const holder = await removeAbandonedLock(path, self)
    if (holder !== undefined && Date.now() >= until)
      throw Object.assign(new Error(`${path} is in use by ${holder}`), { code: 'ELOCKED' })
    await pause(retryMs)
  }
}

/** Runs a step of milliseconds under the lock, which it awaits for five seconds. */
export async function withFileLock<Result>(path: string, step: () => Promise<Result>): Promise<Result> {
  const lock = await lockFile(path, timeoutMs)
  try {
    return await step()
  } finally {
    await lock.release()
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

/** Removes the lock of a dead holder. Returns the name of one that is alive, or may be. */
async function removeAbandonedLock(path: string, self: LockHolder): Promise<string | undefined> {
  // No other process may remove and retake the lock between the check and the removal: the guard serializes them.
  const guard = `${path}.removing`
  try {
    await createFile(guard, '')
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
    if (await isAbandoned(guard)) await unlink(guard).catch(ignoreMissing)
    return undefined
  }
  try {
    const content = await readIfPresent(path)
    if (content === undefined) return undefined
    const holder = parseHolder(content)
    if (holder?.host === self.host ? !(await isAlive(holder)) : await isAbandoned(path)) {
      await unlink(path)
      return undefined
    }
    const name = holder ? `process ${holder.pid} on host ${holder.host}` : 'another process'
    return holder?.host === self.host ? name : `${name}; if it was copied with its folder, remove it`
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

/** Undefined for a lock that was read before its first byte was written, or truncated by a crash: its age decides. */
function parseHolder(content: string): LockHolder | undefined {
  const { pid, host, began } = getMembers(parseJsonBytes(Buffer.from(content)))
  if (typeof pid !== 'number' || typeof host !== 'string') return undefined
  return { pid, host, began: typeof began === 'string' ? began : null }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreMissing)
}

async function isAbandoned(path: string): Promise<boolean> {
  const modified = (await stat(path).catch(ignoreMissing))?.mtimeMs
  return modified !== undefined && Date.now() - modified >= abandonedMs
}
