import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { getMembers, hasErrorCode } from 'catalog-gateway/lib'

/** Includes unique and foreign keys: each transaction checks before it writes, and a retry sees the other's changes. */
const conflictCodes = [
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '23505', // unique_violation
  '23503', // foreign_key_violation
]

/** Text that PostgreSQL cannot store: the character 0. Names cannot contain it, only tokens and references. */
const unstorableTextCodes = ['22021', '22P05']

/** program_limit_exceeded: an index has no entries above 2,704 bytes, after compression. */
const limitExceededCode = '54000'

/**
 * Connections (08), logins that are rejected while a password is replaced (28), resources (53), operator intervention (57),
 * and after a failover, a server that only reads.
 */
const unavailableCodes =
  /^(08...|28...|53...|57P..|25006|0A000|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENOENT)$/
/** The client library's errors differ only in their text. */
const lostConnectionMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/

export function isConflict(error: unknown): boolean {
  return hasErrorCode(error, ...conflictCodes)
}

/** Converts to ConcurrentModification (409), ServiceUnavailable (503) or InvalidInput (400); otherwise undefined. */
export function toPostgresCatalogError(error: unknown): CatalogError | undefined {
  if (!(error instanceof Error)) return undefined
  if (isConflict(error)) {
    const message = 'too many concurrent changes of the catalog; retry'
    return new CatalogError('ConcurrentModification', message, { cause: error })
  }
  if (hasErrorCode(error, ...unstorableTextCodes))
    return invalidInput('a string contains a NUL character', { cause: error })
  if (hasErrorCode(error, limitExceededCode)) {
    const message =
      'an id, a name or a location is too long for the database of this catalog; use at most 2,600 bytes'
    return invalidInput(message, { cause: error })
  }
  const { code, syscall } = getMembers(error)
  // Of a file, unless it is the socket of the server.
  if (code === 'ENOENT' && syscall !== undefined && syscall !== 'connect') return undefined
  const isUnavailable = unavailableCodes.test(String(code)) || lostConnectionMessages.test(error.message)
  return isUnavailable ? databaseUnavailableError(error) : undefined
}

export function databaseUnavailableError(cause?: unknown): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the catalog database is unavailable; retry', {
    headers: { 'retry-after': '1' },
    cause,
  })
}
