import { CatalogError } from '../../catalog-api/catalog-error.ts'

/** The disk, a quota, a limit of the process, or the store in a SQLite file. */
const fullStorageCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL'])
/** The engine tells them by their text alone. */
const fullStorageMessages = /No space left on device|Disk quota exceeded|File too large/

/**
 * The 503 of a change for which the storage has no room; undefined for other errors. What was written of the change
 * is not visible, and the change can be sent again when there is room.
 */
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
