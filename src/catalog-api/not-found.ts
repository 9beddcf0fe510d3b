import { CatalogError } from './catalog-error.ts'
import { formatNameList, isUnambiguous } from './identifier-text.ts'
import { defaultDelimiter, quoteForMessage, truncateForMessage, type Identifier } from './identifiers.ts'

/**
 * Formats an id for an error of the catalog API: `"prod$sales"`, as in a path, or `the root`. A slash would be redacted as
 * part of a path of the server when the error passes a gateway.
 */
export function formatIdentifierForMessage(id: Identifier): string {
  if (id.length === 0) return 'the root'
  return isUnambiguous(id)
    ? quoteForMessage(id.join(defaultDelimiter))
    : truncateForMessage(formatNameList(id))
}

export function namespaceNotFound(id: Identifier): CatalogError {
  return new CatalogError('NamespaceNotFound', `there is no namespace ${formatIdentifierForMessage(id)}`)
}

export function tableNotFound(id: Identifier): CatalogError {
  return new CatalogError('TableNotFound', `there is no table ${formatIdentifierForMessage(id)}`)
}

/** No other error of the catalog API means a missing function or secret. */
export function functionOrSecretNotFound(kind: 'function' | 'secret', id: Identifier): CatalogError {
  return new CatalogError('TableNotFound', `there is no ${kind} ${formatIdentifierForMessage(id)}`)
}

/** Also for a missing table: these operations define no other 404. */
export function transactionNotFound(id: Identifier): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    `there is no transaction ${quoteForMessage(id.at(-1) ?? '')} of a table ${formatIdentifierForMessage(id.slice(0, -1))}`,
  )
}
