import { constants } from 'node:fs'
import { open, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import { decodeEntries, encodeEntry, entrySize, type JournalEntry } from './journal-entry.ts'
import type { FileTampering } from '../records/audit-record.ts'
import { readInto } from '../../lib/fs/read-into.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { writeAll } from '../../lib/fs/write-all.ts'

/** The name of the journal in the folder of a log. */
export const journalName = 'journal'

/** Its size. What it holds is written again after a crash, and kept in memory until its segment is synced. */
export const journalBytes = 1024 * 1024

/**
 * Whether a file can be opened so that a write returns when it is durable, as if fdatasync followed (open(2)). That
 * saves a call for each group. On macOS such a write stays in the cache of the disk, where fdatasync does not let it.
 */
const writesAreDurable = process.platform === 'linux'
const openFlags =
  constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | (writesAreDurable ? constants.O_DSYNC : 0)

/**
 * A file of fixed size beside the segments that holds the last bytes appended to the newest segment. To make an append
 * to a growing file durable, the file system must commit the new length too; overwriting allocated blocks takes a quarter
 * to a half less (ext4). So an append is durable here first, and `replayJournal` restores it after a crash of the machine.
 * When the journal is full, the segment is synced and the journal starts over. Preallocated segments would be as fast,
 * but they end in zeros while they are written, which programs that follow the log would have to skip.
 */
export class Journal {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #inode: number
  readonly #buffer = Buffer.alloc(journalBytes)
  #generation = 1
  /** Where the next entry is written. */
  #position = 0

  private constructor(path: string, handle: FileHandle, inode: number) {
    this.#path = path
    this.#handle = handle
    this.#inode = inode
  }

  /**
   * Makes an empty journal in the folder, in place of the one that is there: whoever still writes that one, as a process
   * that was taken for dead, does not write into this one. Rejects when there is no room for it; then there is none.
   */
  static async create(folder: string): Promise<Journal> {
    const path = join(folder, journalName)
    await rm(path, { force: true })
    const handle = await open(path, openFlags, 0o640)
    try {
      const journal = new Journal(path, handle, (await handle.stat()).ino)
      await journal.clear()
      await syncFolder(folder)
      return journal
    } catch (error) {
      await handle.close()
      await rm(path, { force: true })
      throw error
    }
  }

  /** Whether so many bytes of that segment fit behind what is there. */
  hasRoom(file: string, length: number): boolean {
    return this.#position + entrySize(file, length) <= journalBytes
  }

  /**
   * Resolves when it is durable that those bytes stand in the segment. When it rejects they may or may not, and the
   * journal has to be cleared. One call at a time; the bytes must fit.
   */
  async write(entry: Omit<JournalEntry, 'generation'>): Promise<void> {
    const size = encodeEntry(this.#buffer, { generation: this.#generation, ...entry })
    await this.#overwrite(this.#buffer.subarray(0, size), this.#position)
    this.#position += size
  }

  /** All that it holds stands in its segment for good: it begins anew. */
  restart(): void {
    if (this.#position > 0) this.#generation += 1
    this.#position = 0
  }

  /** Likewise; resolves when it is durable that it holds nothing. */
  async clear(): Promise<void> {
    await this.#overwrite(this.#buffer.fill(0), 0)
    this.restart()
  }

  /** What somebody else did to the file; undefined where it is as it was made. */
  async findTampering(): Promise<FileTampering | undefined> {
    const named = await stat(this.#path).catch(ignoreMissing)
    if (named === undefined) return 'removed'
    if (named.ino !== this.#inode) return 'replaced'
    return named.size === journalBytes ? undefined : 'resized'
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Removes the file too, unless it is another's: for a log that ends in order, with its segment synced. */
  async remove(): Promise<void> {
    await this.close()
    if ((await this.findTampering()) !== 'replaced') await rm(this.#path, { force: true })
  }

  async #overwrite(bytes: Buffer, position: number): Promise<void> {
    await writeAll(this.#handle.fd, bytes, position)
    if (!writesAreDurable) await this.#handle.datasync()
  }
}

/** What the journal of a folder holds (see `decodeEntries`); nothing where there is none. */
export async function readJournal(folder: string): Promise<JournalEntry[] | string> {
  const handle = await open(join(folder, journalName)).catch(ignoreMissing)
  if (handle === undefined) return []
  try {
    const content = Buffer.alloc(journalBytes)
    return decodeEntries(content.subarray(0, await readInto(handle, content, 0)))
  } finally {
    await handle.close()
  }
}
