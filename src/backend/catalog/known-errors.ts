import { CatalogError } from 'catalog-gateway/catalog-api'
import { toPostgresCatalogError } from '../database/postgres-errors.ts'
import { toEngineCatalogError } from '../engine/native/native-errors.ts'
import { toStorageFullError } from '../storage/storage-errors.ts'

/** What the engine, the database and the storage throw, as errors of the interface; anything else is Internal. */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError && error.kind !== 'Internal') return error
  const known = toEngineCatalogError(error) ?? toPostgresCatalogError(error) ?? toStorageFullError(error)
  if (known !== undefined) return known
  if (error instanceof CatalogError) return error
  return new CatalogError('Internal', 'internal error; see the log of the catalog for this instance', {
    cause: error,
  })
}
