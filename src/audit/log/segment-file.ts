import { constants, type Stats } from 'node:fs'
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import type { Journal } from '../storage/journal.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import type { FileTampering } from '../records/audit-record.ts'
import { writeAll } from '../../lib/fs/write-all.ts'

const openFlags =
  constants.O_RDWR |
  // Where somebody cuts or continues the file, writes of ours do not hide it: its length stays another.
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_TRUNC

/**
 * A file that grows by whole groups of lines, each of them durable or not there at all. With a journal, a group is
 * durable there first, and the file is synced now and then; without one, for each group. Whoever reads the file may see
 * lines that are not durable yet.
 */
export class SegmentFile {
  #handle: FileHandle
  /** The file that the handle holds, whatever stands under its name. */
  #identity: FileIdentity
  #path: string
  #journal: Journal | undefined
  /** The bytes that are durable, in the file or in the journal. */
  #length = 0
  /** Those that are durable in the file, and the groups behind, which the journal holds. */
  #synced = 0
  #unsynced: Buffer[] = []
  /** Whether something may stand behind the length, in the file or in the journal. */
  #hasLeftover = false
  /** Whether a sync failed: then what it was to write may be gone, though it can still be read (fsync(2)). */
  #isSyncUncertain = false

  private constructor(handle: FileHandle, own: FileIdentity, path: string) {
    this.#handle = handle
    this.#identity = own
    this.#path = path
  }

  /** Creates the file, or empties it. */
  static async create(path: string): Promise<SegmentFile> {
    const handle = await open(path, openFlags, 0o640)
    try {
      return new SegmentFile(handle, await handle.stat(), path)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /**
   * From now on, groups are durable there first; undefined: each is synced by itself. What the journal holds must stand
   * for good in files that were written before.
   */
  setJournal(journal: Journal | undefined): void {
    this.#journal = journal
  }

  /** Gives the file its name for good. */
  async rename(path: string): Promise<void> {
    await rename(this.#path, path)
    this.#path = path
  }

  /** The bytes that are durable. */
  get length(): number {
    return this.#length
  }

  /**
   * Resolves when the bytes are durable. Rejects with the error of the system when they are not;
   * the file is then cut back to what was durable before, here or, where that fails too, before the next append.
   * One call at a time.
   */
  async append(bytes: Buffer): Promise<void> {
    if (this.#hasLeftover) await this.#cutBack()
    try {
      if (this.#journal?.hasRoom(basename(this.#path), bytes.length))
        await this.#appendJournaled(bytes, this.#journal)
      else await this.#appendSynced(bytes)
    } catch (error) {
      this.#hasLeftover = true
      // Its own failure is met again, and reported, by the next append.
      await this.#cutBack().catch(() => undefined)
      throw error
    }
  }

  /** Resolves when all is durable in the file itself, and the journal is not needed for it any more. */
  async checkpoint(): Promise<void> {
    if (this.#hasLeftover) return this.#cutBack()
    try {
      await this.#sync()
    } catch (error) {
      this.#hasLeftover = true
      throw error
    }
  }

  /** What somebody else did to the file; undefined where it is as it was written. */
  async findTampering(): Promise<FileTampering | undefined> {
    const named = await stat(this.#path).catch(ignoreMissing)
    if (named === undefined) return 'removed'
    if (named.ino !== this.#identity.ino || named.dev !== this.#identity.dev) return 'replaced'
    return this.#hasLeftover || named.size === this.#length ? undefined : 'resized'
  }

  /**
   * Puts a file that was removed or replaced back as it was written, from what the open handle still holds, and
   * keeps what stood in its place under the name that is answered.
   */
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

  /**
   * Closes the file and removes it, as far as possible: a later sync of the folder says nothing of a name that an earlier
   * one failed to write.
   */
  async discard(): Promise<void> {
    await this.close()
    await rm(this.#path, { force: true }).catch(() => undefined)
  }

  /** Both at once: what the one waits for is not what the other waits for. */
  async #appendJournaled(bytes: Buffer, journal: Journal): Promise<void> {
    const entry = { file: basename(this.#path), offset: this.#length, bytes }
    // The one that takes long begins first; the error of the other says more.
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

  /** With it, so many bytes that were just written count as durable too. */
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

  /** Durable before anything is written again: a crash must not leave old bytes behind shorter new ones. */
  async #cutBack(): Promise<void> {
    if (this.#isSyncUncertain) await this.#rewriteUnsynced()
    else await this.#handle.truncate(this.#length)
    await this.#sync()
    await this.#journal?.clear()
    this.#hasLeftover = false
  }

  /** A sync that is tried again says nothing of what the one before failed to write. */
  async #rewriteUnsynced(): Promise<void> {
    await this.#handle.truncate(this.#synced)
    for (const bytes of this.#unsynced) await writeAll(this.#handle.fd, bytes, null)
  }
}

/** What tells a file from every other one that is there. */
type FileIdentity = Pick<Stats, 'dev' | 'ino'>
