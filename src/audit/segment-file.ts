import { open, type FileHandle } from 'node:fs/promises'

/** Makes the creation, renaming and removal of files in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A file that grows by whole groups of lines, each of them durable or not there at all. */
export class SegmentFile {
  readonly #handle: FileHandle
  #length = 0
  #leftover = false

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Creates the file, or empties it. */
  static async create(path: string): Promise<SegmentFile> {
    return new SegmentFile(await open(path, 'w', 0o640))
  }

  /** The bytes that are durable. */
  get length(): number {
    return this.#length
  }

  /**
   * Resolves when the bytes are durable (fdatasync). Rejects with the error of the system when they are not;
   * the file is then cut back to what was durable before, here or, where that fails too, before the next append.
   * One call at a time.
   */
  async append(bytes: Buffer): Promise<void> {
    if (this.#leftover) await this.#cutBack()
    try {
      await this.#writeAll(bytes)
      await this.#handle.datasync()
    } catch (error) {
      this.#leftover = true
      // Its own failure is met again, and reported, by the next append.
      await this.#cutBack().catch(() => undefined)
      throw error
    }
    this.#length += bytes.length
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** A disk that fills up takes part of a write before it fails. */
  async #writeAll(bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const rest = bytes.length - written
      const { bytesWritten } = await this.#handle.write(bytes, written, rest, this.#length + written)
      written += bytesWritten
    }
  }

  /** Durable before anything is written again: a crash must not leave old bytes behind shorter new ones. */
  async #cutBack(): Promise<void> {
    await this.#handle.truncate(this.#length)
    await this.#handle.datasync()
    this.#leftover = false
  }
}
