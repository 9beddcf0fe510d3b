import { constants } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { ignoreMissing, writeAll } from '../../lib/index.ts'
import type { FileTampering } from '../records/audit-record.ts'

const openFlags =
  constants.O_WRONLY |
  // If another process truncates or extends the file, our writes do not hide it: the size remains different.
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_TRUNC

/** Creates a file that grows by groups of lines, each durable or absent. Readers may see lines that are not durable yet. */
export async function createSegmentFile(createdPath: string) {
  const handle = await open(createdPath, openFlags, 0o640)
  // Of the open file: the path may refer to another one later.
  const { dev, ino } = await handle.stat()
  let path = createdPath
  /** Number of durable bytes. */
  let length = 0
  /** Whether there may be data after `length`. */
  let hasLeftover = false

  /**
   * Truncates the file to its durable length after a failed append. Syncs before the next write: a crash must not leave
   * old bytes after shorter new ones.
   */
  async function cutLeftover(): Promise<void> {
    if (!hasLeftover) return
    await handle.truncate(length)
    await handle.datasync()
    hasLeftover = false
  }

  return {
    length: () => length,
    async rename(newPath: string): Promise<void> {
      await rename(path, newPath)
      path = newPath
    },
    /**
     * Resolves when the bytes are durable. Otherwise rejects with the system error and truncates the file to its previous
     * durable length, now or, if that fails too, before the next append. Calls must not overlap.
     */
    async append(bytes: Buffer): Promise<void> {
      await cutLeftover()
      hasLeftover = true
      try {
        await writeAll(handle.fd, bytes)
        await handle.datasync()
        length += bytes.length
        hasLeftover = false
      } catch (error) {
        // The next append retries it and reports its error.
        await cutLeftover().catch(() => undefined)
        throw error
      }
    },
    cutLeftover,
    async findTampering(): Promise<FileTampering | undefined> {
      const named = await stat(path).catch(ignoreMissing)
      if (named === undefined) return 'removed'
      if (named.ino !== ino || named.dev !== dev) return 'replaced'
      return hasLeftover || named.size === length ? undefined : 'resized'
    },
    close: () => handle.close(),
    /** Closes the file and tries to remove it: a failed sync of the folder may have lost its name. */
    async discard(): Promise<void> {
      await handle.close()
      await rm(path, { force: true }).catch(() => undefined)
    },
  }
}
