import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { Upload } from '../contract/catalog.ts'
import { readBody } from './request-body.ts'

/** The memory that the uploads of all requests share. */
export class UploadMemory {
  #free: number

  constructor(bytes: number) {
    this.#free = bytes
  }

  /** Throws ServiceUnavailable (503) when other uploads hold what is needed. */
  reserve(bytes: number): void {
    if (bytes > this.#free) {
      throw new CatalogError('ServiceUnavailable', 'upload memory exhausted; retry later', {
        headers: { 'retry-after': '1' },
      })
    }
    this.#free -= bytes
  }

  release(bytes: number): void {
    this.#free += bytes
  }
}

/**
 * Reads an upload into one buffer and hands it to `use`; its memory is accounted for until `use` has ended.
 * Throws InvalidInput with status 413 above `limit` bytes, before any byte is read when the length is announced.
 */
export async function receiveUpload<Result>(
  upload: Upload,
  limit: number,
  memory: UploadMemory,
  use: (bytes: Uint8Array) => Promise<Result>,
): Promise<Result> {
  let taken = 0
  const take = (bytes: number): void => {
    memory.reserve(bytes)
    taken += bytes
  }
  try {
    return await use(await readBody(upload, limit, take))
  } finally {
    memory.release(taken)
  }
}
