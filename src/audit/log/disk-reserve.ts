import { randomFillSync } from 'node:crypto'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ignoreMissing, hasErrorCode } from '../../lib/fs/system-error.ts'

/** Space that remains for essential records, which are written meanwhile. */
const remainingBytes = 1024 * 1024

const diskFullCodes = ['ENOSPC', 'EDQUOT'] as const

export function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, ...diskFullCodes)
}

/** A file that reserves disk space. Deleted when the disk is full, to make room for essential records. */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number
  #isHeld = false

  /** Allocates nothing yet. With 0 bytes, nothing is ever reserved. */
  constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  get isHeld(): boolean {
    return this.#isHeld || this.#bytes === 0
  }

  /** Allocates the reserve if it is missing and fits. Returns whether it is held. Throws errors other than a full disk. */
  async acquire(): Promise<boolean> {
    if (this.isHeld) return true
    try {
      const existing = await stat(this.#path).catch(ignoreMissing)
      if (existing?.size !== this.#bytes) {
        // A crash may have left it, and it takes space.
        await rm(`${this.#path}.filling`, { force: true })
        if (!(await this.#fits())) return false
        await this.#fill()
      }
      this.#isHeld = true
    } catch (error) {
      await rm(`${this.#path}.filling`, { force: true })
      if (!isDiskFull(error)) throw error
    }
    return this.isHeld
  }

  /** Deletes the reserve. Returns whether it was held. */
  async release(): Promise<boolean> {
    const wasHeld = this.#isHeld
    this.#isHeld = false
    if (wasHeld) await rm(this.#path, { force: true })
    return wasHeld
  }

  async #fits(): Promise<boolean> {
    const { bavail, bsize } = await statfs(dirname(this.#path))
    return bavail * bsize >= this.#bytes + remainingBytes
  }

  /** Random bytes: no file system can store them as a hole or compress them. */
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
