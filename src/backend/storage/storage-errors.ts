import { CatalogError } from 'catalog-gateway/catalog-api'
import { getMembers } from 'catalog-gateway/lib'

export function getHttpStatus(error: unknown): number | undefined {
  return readMetadata(error, 'httpStatusCode')
}

export function wasRetried(error: unknown): boolean {
  return (readMetadata(error, 'attempts') ?? 1) > 1
}

/** The error for a request that the store did not carry out: ServiceUnavailable (503), without details. */
export function toUnavailableError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return new CatalogError('ServiceUnavailable', 'the object store is unavailable; retry later', {
    cause: error,
  })
}

/** Describes the failure for operators: the store's error code or the network's. */
export function describeStorageError(error: unknown): string {
  const cause = error instanceof CatalogError ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
  return [code, cause.message].filter((text) => text !== '' && text !== 'UnknownError').join(': ')
}

/** The SDK adds metadata to every error, also to those of the network. */
function readMetadata(error: unknown, name: 'httpStatusCode' | 'attempts'): number | undefined {
  const metadata = error instanceof Error && '$metadata' in error ? error.$metadata : undefined
  const value = getMembers(metadata)[name]
  return typeof value === 'number' ? value : undefined
}

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
