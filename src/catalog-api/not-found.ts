import { CatalogError } from './catalog-error.ts'
import { defaultDelimiter, quoteForMessage, type Identifier } from './identifiers.ts'

export function formatIdentifierForMessage(id: Identifier): string {
  return id.length === 0 ? 'the root' : quoteForMessage(id.join(defaultDelimiter))
}

export function namespaceNotFound(id: Identifier): CatalogError {
  return new CatalogError('NamespaceNotFound', `there is no namespace ${formatIdentifierForMessage(id)}`)
}

export function tableNotFound(id: Identifier): CatalogError {
  return new CatalogError('TableNotFound', `there is no table ${formatIdentifierForMessage(id)}`)
}

/** Also for a missing table: these operations define no other 404. */
export function transactionNotFound(id: Identifier): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    `there is no transaction ${quoteForMessage(id.at(-1) ?? '')} of a table ${formatIdentifierForMessage(id.slice(0, -1))}`,
  )
}
