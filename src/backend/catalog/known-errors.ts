import { CatalogError } from 'catalog-gateway/catalog-api'
import { hasErrorCode } from 'catalog-gateway/lib'
import { toPostgresCatalogError } from '../database/postgres-errors.ts'
import { toEngineCatalogError } from '../engine/native/native-errors.ts'

/** What the engine, the database and the storage throw, as errors of the interface; anything else is Internal. */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const known = toEngineCatalogError(error) ?? toPostgresCatalogError(error) ?? toStorageFullError(error)
  return known ?? new CatalogError('Internal', 'internal error; see the log of the catalog', { cause: error })
}

/** A full disk, a quota, a process limit, or a full SQLite database. */
const fullStorageCodes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL']
/** The engine's errors differ only in their text. */
const fullStorageMessages = /No space left on device|Disk quota exceeded|File too large/

/** Returns a 503 for a full storage; undefined for other errors. The change can be repeated once space is available. */
function toStorageFullError(cause: unknown): CatalogError | undefined {
  if (!(cause instanceof Error)) return undefined
  if (!hasErrorCode(cause, ...fullStorageCodes) && !fullStorageMessages.test(cause.message)) return undefined
  const headers = { 'retry-after': '60' }
  return new CatalogError('ServiceUnavailable', 'the storage of the catalog is full', { headers, cause })
}
