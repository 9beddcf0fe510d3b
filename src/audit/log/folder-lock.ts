import { randomBytes } from 'node:crypto'
import { open, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ignoreMissing, hasErrorCode } from '../../lib/fs/system-error.ts'

/** How often the holder shows that it lives, and after how long without that a lock of another host is void. */
const refreshMs = 10_000
const abandonedMs = 60_000

/** The right to be the only writer of a folder. */
export interface FolderLock {
  /** False from the moment that somebody else is seen to have taken it: this process was taken for dead. */
  isHeld(): boolean
  release(): Promise<void>
}

/** A process. Containers reuse process ids, and a volume may be seen by several hosts: hence all three. */
interface LockHolder {
  readonly pid: number
  readonly host: string
  /** When the process began, as the kernel of Linux counts; null elsewhere. */
  readonly began: string | null
}

/**
 * Takes the lock of a folder (the file `writer.lock`), or throws an error that names its holder. The lock of a
 * dead process is taken over: at once when it ran on this host, else when it was not refreshed for a minute.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = join(folder, 'writer.lock')
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

function createLock(path: string, content: string): FolderLock {
  let lost = false
  const refresh = async (): Promise<void> => {
    const now = new Date()
    if ((await readIfPresent(path)) === content) await utimes(path, now, now)
    else lost = true
  }
  // A disk that fails is seen by the next write of the log; the lock stays what it was.
  const timer = setInterval(() => void refresh().catch(() => undefined), refreshMs).unref()
  return {
    isHeld: () => !lost,
    async release() {
      clearInterval(timer)
      if ((await readIfPresent(path)) === content) await unlink(path)
    },
  }
}

/** Removes the lock of a dead holder; throws for that of a living one. */
async function removeAbandonedLock(path: string, self: LockHolder): Promise<void> {
  // Between finding a lock dead and removing it, nobody else may do so and take the lock: one removes at a time.
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
    const alive = holder?.host === self.host ? await isAlive(holder) : !(await isAbandoned(path))
    if (alive) {
      const name = holder ? `process ${holder.pid} on host ${holder.host}` : 'another process'
      throw new Error(`the audit folder is in use by ${name}`)
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

/** Field 22 of /proc/PID/stat (proc(5)); undefined for a zombie, for no process, and where there is no /proc. */
async function readProcessStart(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

function parseHolder(content: string): LockHolder | undefined {
  try {
    const value = JSON.parse(content) as Partial<LockHolder> | null
    if (typeof value?.pid !== 'number' || typeof value.host !== 'string') return undefined
    return { pid: value.pid, host: value.host, began: value.began ?? null }
  } catch {
    // Caught between its creation and its first byte, or cut by a crash: its age decides.
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
