import { constants, type Stats } from 'node:fs'
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { ignoreMissing, writeAll } from '../../lib/index.ts'
import type { FileTampering } from '../records/audit-record.ts'

const openFlags =
  constants.O_RDWR |
  // If another process truncates or extends the file, our writes do not hide it: the size remains different.
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_TRUNC

/** A file that grows by groups of lines, each durable or absent. Readers may see lines that are not durable yet. */
export class SegmentFile {
  readonly #handle: FileHandle
  /** Identity of the open file, whatever the path refers to now. */
  readonly #identity: Pick<Stats, 'dev' | 'ino'>
  #path: string
  /** Number of durable bytes. */
  #length = 0
  /** Whether there may be data after `#length`. */
  #hasLeftover = false

  private constructor(handle: FileHandle, identity: Pick<Stats, 'dev' | 'ino'>, path: string) {
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
    await this.cutLeftover()
    this.#hasLeftover = true
    try {
      await writeAll(this.#handle.fd, bytes)
      await this.#handle.datasync()
      this.#length += bytes.length
      this.#hasLeftover = false
    } catch (error) {
      // The next append retries it and reports its error.
      await this.cutLeftover().catch(() => undefined)
      throw error
    }
  }

  /**
   * Truncates the file to its durable length after a failed append. Syncs before the next write: a crash must not leave
   * old bytes after shorter new ones.
   */
  async cutLeftover(): Promise<void> {
    if (!this.#hasLeftover) return
    await this.#handle.truncate(this.#length)
    await this.#handle.datasync()
    this.#hasLeftover = false
  }

  async findTampering(): Promise<FileTampering | undefined> {
    const named = await stat(this.#path).catch(ignoreMissing)
    if (named === undefined) return 'removed'
    if (named.ino !== this.#identity.ino || named.dev !== this.#identity.dev) return 'replaced'
    return this.#hasLeftover || named.size === this.#length ? undefined : 'resized'
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** Closes the file and tries to remove it: a failed sync of the folder may have lost its name. */
  async discard(): Promise<void> {
    await this.close()
    await rm(this.#path, { force: true }).catch(() => undefined)
  }
}
