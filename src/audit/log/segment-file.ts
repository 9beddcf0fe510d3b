import { constants, type Stats } from 'node:fs'
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import type { Journal } from '../storage/write-ahead-journal.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import type { FileTampering } from '../records/audit-record.ts'
import { writeAll } from '../../lib/fs/write-all.ts'

const openFlags =
  constants.O_RDWR |
  // If another process truncates or extends the file, our writes do not hide it: the size remains different.
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_TRUNC

/**
 * A file that grows by groups of lines, each durable or absent. With a journal, a group becomes durable there first and
 * the file is synced occasionally; without one, each group is synced. Readers may see lines that are not durable yet.
 */
export class SegmentFile {
  #handle: FileHandle
  /** Identity of the open file, whatever the path refers to now. */
  #identity: FileIdentity
  #path: string
  #journal: Journal | undefined
  /** Number of bytes that are durable in the file or in the journal. */
  #length = 0
  /** Number of bytes that are durable in the file itself; the journal holds the groups after them. */
  #synced = 0
  #unsynced: Buffer[] = []
  /** Whether there may be data after `#length` in the file or in the journal. */
  #hasLeftover = false
  /** Whether a sync failed: its data may be lost although it can still be read (fsync(2)). */
  #isSyncUncertain = false

  private constructor(handle: FileHandle, identity: FileIdentity, path: string) {
    this.#handle = handle
    this.#identity = identity
    this.#path = path
  }

  static async create(path: string): Promise<SegmentFile> {
    const handle = await open(path, openFlags, 0o640)
    try {
      return new SegmentFile(handle, await handle.stat(), path)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Makes the next groups durable in the journal first. Its contents must already be durable in earlier files. */
  setJournal(journal: Journal | undefined): void {
    this.#journal = journal
  }

  async rename(path: string): Promise<void> {
    await rename(this.#path, path)
    this.#path = path
  }

  get length(): number {
    return this.#length
  }

  /**
   * Resolves when the bytes are durable. Otherwise rejects with the system error and truncates the file to its previous
   * durable length, now or, if that fails too, before the next append. Calls must not overlap.
   */
  async append(bytes: Buffer): Promise<void> {
    if (this.#hasLeftover) await this.#cutBack()
    try {
      if (this.#journal?.hasRoom(basename(this.#path), bytes.length))
        await this.#appendJournaled(bytes, this.#journal)
      else await this.#appendSynced(bytes)
    } catch (error) {
      this.#hasLeftover = true
      // The next append retries it and reports its error.
      await this.#cutBack().catch(() => undefined)
      throw error
    }
  }

  /** Resolves when all data is durable in the file itself and the journal is no longer needed for it. */
  async checkpoint(): Promise<void> {
    if (this.#hasLeftover) return this.#cutBack()
    try {
      await this.#sync()
    } catch (error) {
      this.#hasLeftover = true
      throw error
    }
  }

  async findTampering(): Promise<FileTampering | undefined> {
    const named = await stat(this.#path).catch(ignoreMissing)
    if (named === undefined) return 'removed'
    if (named.ino !== this.#identity.ino || named.dev !== this.#identity.dev) return 'replaced'
    return this.#hasLeftover || named.size === this.#length ? undefined : 'resized'
  }

  /** Restores a removed or replaced file from the open handle. Returns the new name of the file that replaced it. */
  async restore(): Promise<string | undefined> {
    const copy = await SegmentFile.create(`${this.#path}.restoring`)
    let foreign: string | undefined
    try {
      await this.#copyTo(copy)
      if (await stat(this.#path).catch(ignoreMissing)) {
        foreign = `${this.#path}.foreign-${Date.now()}`
        await rename(this.#path, foreign)
      }
      await copy.rename(this.#path)
      await syncFolder(dirname(this.#path))
    } catch (error) {
      await copy.close()
      throw error
    }
    await this.#handle.close()
    this.#handle = copy.#handle
    this.#identity = copy.#identity
    this.#markSynced()
    return foreign
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Closes the file and tries to remove it: a failed sync of the folder may have lost its name. */
  async discard(): Promise<void> {
    await this.close()
    await rm(this.#path, { force: true }).catch(() => undefined)
  }

  /** Writes both concurrently, because they wait for different things. */
  async #appendJournaled(bytes: Buffer, journal: Journal): Promise<void> {
    const entry = { file: basename(this.#path), offset: this.#length, bytes }
    // The journal takes longer, so it starts first; the error of the file is more specific, so it is reported first.
    const journaled = journal.write(entry)
    const results = await Promise.allSettled([writeAll(this.#handle.fd, bytes, null), journaled])
    for (const result of results) if (result.status === 'rejected') throw result.reason
    this.#unsynced.push(bytes)
    this.#length += bytes.length
  }

  async #appendSynced(bytes: Buffer): Promise<void> {
    await writeAll(this.#handle.fd, bytes, null)
    await this.#sync(bytes.length)
  }

  /** Syncs the file; `more` bytes just written then count as durable, too. */
  async #sync(more = 0): Promise<void> {
    this.#isSyncUncertain = true
    await this.#handle.datasync()
    this.#isSyncUncertain = false
    this.#length += more
    this.#markSynced()
  }

  #markSynced(): void {
    this.#synced = this.#length
    this.#unsynced = []
    this.#journal?.restart()
  }

  async #copyTo(copy: SegmentFile): Promise<void> {
    const buffer = Buffer.allocUnsafe(1024 * 1024)
    while (copy.#length < this.#synced) {
      const wanted = Math.min(buffer.length, this.#synced - copy.#length)
      const { bytesRead } = await this.#handle.read(buffer, 0, wanted, copy.#length)
      if (bytesRead === 0) throw new Error('the audit segment was truncated by another process')
      await copy.append(buffer.subarray(0, bytesRead))
    }
    if (this.#unsynced.length > 0) await copy.append(Buffer.concat(this.#unsynced))
  }

  /** Syncs before the next write: a crash must not leave old bytes after shorter new ones. */
  async #cutBack(): Promise<void> {
    if (this.#isSyncUncertain) await this.#rewriteUnsynced()
    else await this.#handle.truncate(this.#length)
    await this.#sync()
    await this.#journal?.clear()
    this.#hasLeftover = false
  }

  /** Writes the data again: a repeated sync does not cover what a failed one did not write (fsync(2)). */
  async #rewriteUnsynced(): Promise<void> {
    await this.#handle.truncate(this.#synced)
    for (const bytes of this.#unsynced) await writeAll(this.#handle.fd, bytes, null)
  }
}

type FileIdentity = Pick<Stats, 'dev' | 'ino'>
