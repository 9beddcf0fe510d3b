import { CatalogError } from './catalog-error.ts'
import { defaultDelimiter, quoteForMessage, type Identifier } from './identifiers.ts'

/** An id as it is shown in a message. */
export function formatIdentifierForMessage(id: Identifier): string {
  return id.length === 0 ? 'the root' : quoteForMessage(id.join(defaultDelimiter))
}

/** The 404 of a namespace. */
export function namespaceNotFound(id: Identifier): CatalogError {
  return new CatalogError('NamespaceNotFound', `there is no namespace ${formatIdentifierForMessage(id)}`)
}

/** The 404 of a table. */
export function tableNotFound(id: Identifier): CatalogError {
  return new CatalogError('TableNotFound', `there is no table ${formatIdentifierForMessage(id)}`)
}

/** The 404 of a transaction: of a table that is not there, too, for the interface knows no other 404 here. */
export function transactionNotFound(id: Identifier): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    `there is no transaction ${quoteForMessage(id.at(-1) ?? '')} of a table ${formatIdentifierForMessage(id.slice(0, -1))}`,
  )
}
