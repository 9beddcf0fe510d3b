import { CatalogError } from 'catalog-gateway/catalog-api'

/** Takes bytes from the budget. Throws ServiceUnavailable (503) if too few are left. */
export type Reserve = (bytes: number) => void

/** The memory for Arrow data that the engine cannot stream, shared by all requests. */
export class MemoryBudget {
  #freeBytes: number

  constructor(bytes: number) {
    this.#freeBytes = bytes
  }

  /** Returns what it reserved when `work` has ended. */
  async run<Result>(work: (reserve: Reserve) => Promise<Result>): Promise<Result> {
    let reserved = 0
    const reserve = (bytes: number): void => {
      if (bytes > this.#freeBytes) {
        throw new CatalogError(
          'ServiceUnavailable',
          'no memory for Arrow data is left (limits.maxUploadMemoryBytes of the bundled catalog); retry in 1 s',
          {
            headers: { 'retry-after': '1' },
          },
        )
      }
      this.#freeBytes -= bytes
      reserved += bytes
    }
    try {
      return await work(reserve)
    } finally {
      this.#freeBytes += reserved
    }
  }
}
