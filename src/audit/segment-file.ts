import { constants, write, type Stats } from 'node:fs'
import { open, rename, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../identity/sync-folder.ts'
import { ignoreMissing } from './system-error.ts'
import type { FileTrouble } from './records.ts'

/**
 * Whether a file can be opened so that a write returns when it is durable, as if fdatasync followed (open(2)). That
 * saves a wait for each group. On macOS such a write stays in the cache of the disk, where fdatasync does not let it.
 */
const writesAreDurable = process.platform === 'linux'
const openFlags =
  constants.O_RDWR |
  // Where somebody cuts or continues the file, writes of ours do not hide it: its length stays another.
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_TRUNC |
  (writesAreDurable ? constants.O_DSYNC : 0)

/** A file that grows by whole groups of lines, each of them durable or not there at all. */
export class SegmentFile {
  #handle: FileHandle
  /** The file that the handle holds, whatever stands under its name. */
  #own: FileIdentity
  #path: string
  #length = 0
  #leftover = false

  private constructor(handle: FileHandle, own: FileIdentity, path: string) {
    this.#handle = handle
    this.#own = own
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
    if (this.#leftover) await this.#cutBack()
    try {
      await writeAll(this.#handle.fd, bytes)
      if (!writesAreDurable) await this.#handle.datasync()
    } catch (error) {
      this.#leftover = true
      // Its own failure is met again, and reported, by the next append.
      await this.#cutBack().catch(() => undefined)
      throw error
    }
    this.#length += bytes.length
  }

  /** What somebody else did to the file; undefined where it is as it was written. */
  async trouble(): Promise<FileTrouble | undefined> {
    const named = await stat(this.#path).catch(ignoreMissing)
    if (named === undefined) return 'removed'
    if (named.ino !== this.#own.ino || named.dev !== this.#own.dev) return 'replaced'
    return this.#leftover || named.size === this.#length ? undefined : 'resized'
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
    this.#own = copy.#own
    return foreign
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  async #copyTo(copy: SegmentFile): Promise<void> {
    const buffer = Buffer.allocUnsafe(1024 * 1024)
    while (copy.#length < this.#length) {
      const wanted = Math.min(buffer.length, this.#length - copy.#length)
      const { bytesRead } = await this.#handle.read(buffer, 0, wanted, copy.#length)
      if (bytesRead === 0) throw new Error('The file of the audit log was cut short by somebody else.')
      await copy.append(buffer.subarray(0, bytesRead))
    }
  }

  /** Durable before anything is written again: a crash must not leave old bytes behind shorter new ones. */
  async #cutBack(): Promise<void> {
    await this.#handle.truncate(this.#length)
    await this.#handle.datasync()
    this.#leftover = false
  }
}

/**
 * Writes all of it: a disk that fills up takes part of a write before it fails. By callback, as the promises of
 * `FileHandle` cost twice as much.
 */
function writeAll(file: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const writeFrom = (written: number): void => {
      write(file, bytes, written, bytes.length - written, null, (error, more) => {
        if (error) reject(error)
        else if (written + more < bytes.length) writeFrom(written + more)
        else resolve()
      })
    }
    writeFrom(0)
  })
}

/** What tells a file from every other one that is there. */
type FileIdentity = Pick<Stats, 'dev' | 'ino'>
