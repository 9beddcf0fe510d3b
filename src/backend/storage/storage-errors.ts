import { CatalogError } from 'catalog-gateway/catalog-api'
import { getMembers, hasErrorCode } from 'catalog-gateway/lib'

/** The status and the attempts of a request: the SDK adds them to every error, also to those of the network. */
export function readMetadata(error: unknown): { readonly status: unknown; readonly attempts: number } {
  const { httpStatusCode: status, attempts } = getMembers(getMembers(error)['$metadata'])
  return { status, attempts: Number(attempts ?? 1) }
}

/** The error for a request that the store did not carry out: ServiceUnavailable (503), without details. */
export function toUnavailableError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return new CatalogError('ServiceUnavailable', 'the object store is unavailable; retry later', {
    cause: error,
  })
}

/** A full disk, a quota, a process limit, or a full SQLite database. */
const fullStorageCodes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL']
/** The engine's errors differ only in their text. */
const fullStorageMessages = /No space left on device|Disk quota exceeded|File too large/

/** Returns a 503 for a full storage; undefined for other errors. The change can be repeated once space is available. */
export function toStorageFullError(error: unknown): CatalogError | undefined {
  const reason = error instanceof CatalogError ? error.cause : error
  if (!(reason instanceof Error)) return undefined
  const isFull = hasErrorCode(reason, ...fullStorageCodes) || fullStorageMessages.test(reason.message)
  if (!isFull) return undefined
  return new CatalogError('ServiceUnavailable', 'the storage of the catalog is full', {
    headers: { 'retry-after': '60' },
    cause: error,
  })
}
