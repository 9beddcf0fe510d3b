import { CatalogError } from 'catalog-gateway/catalog-api'

/** A full disk, a quota, a process limit, or a full SQLite database. */
const fullStorageCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL'])
/** The engine's errors differ only in their text. */
const fullStorageMessages = /No space left on device|Disk quota exceeded|File too large/

/** Returns a 503 for a full storage; undefined for other errors. The change can be repeated once space is available. */
export function toStorageFullError(error: unknown): CatalogError | undefined {
  const reason = error instanceof CatalogError ? error.cause : error
  if (!(reason instanceof Error)) return undefined
  const isFull =
    ('code' in reason && fullStorageCodes.has(reason.code)) || fullStorageMessages.test(reason.message)
  if (!isFull) return undefined
  return new CatalogError('ServiceUnavailable', 'the storage of the catalog is full', {
    headers: { 'retry-after': '60' },
    cause: error,
  })
}
