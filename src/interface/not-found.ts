import { InterfaceError } from './errors.ts'
import { defaultDelimiter, show, type Identifier } from './identifiers.ts'

/** An id as it is shown in a message. */
export function showIdentifier(id: Identifier): string {
  return id.length === 0 ? 'the root' : show(id.join(defaultDelimiter))
}

/** The 404 of a namespace. */
export function namespaceNotFound(id: Identifier): InterfaceError {
  return new InterfaceError('NamespaceNotFound', `there is no namespace ${showIdentifier(id)}`)
}

/** The 404 of a table. */
export function tableNotFound(id: Identifier): InterfaceError {
  return new InterfaceError('TableNotFound', `there is no table ${showIdentifier(id)}`)
}

/** The 404 of a transaction: of a table that is not there, too, for the interface knows no other 404 here. */
export function transactionNotFound(id: Identifier): InterfaceError {
  return new InterfaceError(
    'TransactionNotFound',
    `there is no transaction ${show(id.at(-1) ?? '')} of a table ${showIdentifier(id.slice(0, -1))}`,
  )
}
