import { randomFillSync } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { ignoreMissing, hasErrorCode } from '../../lib/fs/system-error.ts'

/** The codes of a disk or a quota that is full. */
const diskFullCodes = ['ENOSPC', 'EDQUOT'] as const

/** Whether the write failed because the disk or the quota is full. */
export function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, ...diskFullCodes)
}

/**
 * A file that keeps space of the disk. It is given up when the disk is full, so that what must be written still can
 * be: outcomes of changes that are under way, and the seal behind them.
 */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number
  #isHeld = false

  /** Takes no space yet; 0 bytes: never does. */
  constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  /** Whether the space is kept. */
  get isHeld(): boolean {
    return this.#isHeld || this.#bytes === 0
  }

  /** Takes the space, unless it is taken; answers whether it is kept now. Throws for other trouble than a full disk. */
  async acquire(): Promise<boolean> {
    if (this.isHeld) return true
    try {
      const there = await stat(this.#path).catch(ignoreMissing)
      if (there?.size !== this.#bytes) await this.#fill()
      this.#isHeld = true
    } catch (error) {
      await rm(`${this.#path}.filling`, { force: true })
      if (!isDiskFull(error)) throw error
    }
    return this.isHeld
  }

  /** Gives the space up; answers whether there was any. */
  async release(): Promise<boolean> {
    const had = this.#isHeld
    this.#isHeld = false
    if (had) await rm(this.#path, { force: true })
    return had
  }

  /** Bytes that no file system can store as a hole, or pack. */
  async #fill(): Promise<void> {
    const chunk = randomFillSync(Buffer.allocUnsafe(Math.min(this.#bytes, 1024 * 1024)))
    const handle = await open(`${this.#path}.filling`, 'w', 0o600)
    try {
      for (let written = 0; written < this.#bytes;) {
        const length = Math.min(chunk.length, this.#bytes - written)
        written += (await handle.write(chunk, 0, length)).bytesWritten
      }
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await rename(`${this.#path}.filling`, this.#path)
  }
}
