import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { Upload } from '../contract/catalog.ts'
import { readBody } from './request-body.ts'

/** The memory budget shared by the uploads of all requests. */
export class UploadMemory {
  #freeBytes: number

  constructor(bytes: number) {
    this.#freeBytes = bytes
  }

  /** Throws ServiceUnavailable (503) if other uploads use too much of the budget. */
  reserve(bytes: number): void {
    if (bytes > this.#freeBytes) {
      throw new CatalogError('ServiceUnavailable', 'upload memory exhausted; retry later', {
        headers: { 'retry-after': '1' },
      })
    }
    this.#freeBytes -= bytes
  }

  release(bytes: number): void {
    this.#freeBytes += bytes
  }
}

/**
 * Reserves memory until `use` has ended. Throws InvalidInput (413) above `limit`, unread if its length is announced.
 */
export async function receiveUpload<Result>(
  upload: Upload,
  limit: number,
  memory: UploadMemory,
  use: (bytes: Uint8Array) => Promise<Result>,
): Promise<Result> {
  let reserved = 0
  const reserve = (bytes: number): void => {
    memory.reserve(bytes)
    reserved += bytes
  }
  try {
    return await use(await readBody(upload, limit, reserve))
  } finally {
    memory.release(reserved)
  }
}
