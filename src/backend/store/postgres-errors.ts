import { CatalogError, invalidInput } from '../../catalog-api/catalog-error.ts'

/**
 * What a transaction may meet because of another one at the same time: run again, it sees what the other one did.
 * A unique or a foreign key tells of such a race too: each transaction looks before it writes.
 */
const conflicts: ReadonlySet<string> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '23505', // unique_violation
  '23503', // foreign_key_violation
])

/** Text that PostgreSQL cannot hold: the character 0. No name has it, so only a token or a reference can. */
const unstorable: ReadonlySet<string> = new Set(['22021', '22P05'])

/** Connections (08), resources (53), an operator who ends them (57), a server that is read-only for now (25006). */
const unreachable =
  /^(08...|53...|57P..|25006|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENOENT)$/
/** The client library tells these by their text alone. */
const lostConnection =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/

/** Whether a transaction failed because of another one, and may be run again. */
export function isConflict(error: unknown): boolean {
  return conflicts.has(errorCodeOf(error))
}

/**
 * An error of PostgreSQL as it is answered: ConcurrentModification (409), ServiceUnavailable (503) or InvalidInput
 * (400); undefined for what is none of these, and for errors that are not of PostgreSQL.
 */
export function toPostgresCatalogError(error: unknown): CatalogError | undefined {
  if (!(error instanceof Error)) return undefined
  if (isConflict(error)) {
    return new CatalogError('ConcurrentModification', 'too many concurrent changes of the catalog; retry', {
      cause: error,
    })
  }
  if (unstorable.has(errorCodeOf(error)))
    return invalidInput('a string contains a NUL character', { cause: error })
  if (!('syscall' in error && errorCodeOf(error) === 'ENOENT' && error.syscall !== 'connect')) {
    if (unreachable.test(errorCodeOf(error)) || lostConnection.test(error.message))
      return storeUnavailableError(error)
  }
  return undefined
}

/** The 503 of a store that does not answer now. */
export function storeUnavailableError(cause?: unknown): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the catalog database is unavailable; retry', {
    headers: { 'retry-after': '1' },
    cause,
  })
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
