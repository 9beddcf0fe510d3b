import { invalidInput } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'
import type { OperationName } from '../interface/operations.ts'
import type { PermissionNeed } from './needs.ts'
import type { Matched } from './stages.ts'

/** The modes an operation knows in its query. A mode that is not here means something to the upstream alone: 400. */
const modes: Partial<Record<OperationName, readonly string[]>> = {
  CreateTable: ['create', 'existok', 'overwrite'],
  InsertIntoTable: ['append', 'overwrite'],
}

/**
 * What the head of a request needs besides its operation: an effect that hides in a query parameter or a header.
 * Throws InvalidInput (400) for a mode that the operation does not know.
 */
export function routeNeeds(request: Matched): PermissionNeed[] {
  const { operation, id, parameters } = request.meaning
  const kind = operation.object
  const needs: PermissionNeed[] = []
  const mode = parameters.get('mode')
  if (typeof mode === 'string' && modeOf(mode, operation.name, modes[operation.name] ?? []) === 'overwrite') {
    needs.push({ permission: 'OverwriteTable', kind, id, because: 'mode=overwrite' })
  }
  if (parameters.get('when_not_matched_by_source_delete') === 'true') {
    needs.push({ permission: 'DeleteFromTable', kind, id, because: 'when_not_matched_by_source_delete' })
  }
  if (request.choosesLocation) {
    needs.push({ permission: 'ChooseLocation', kind, id, because: 'a location header' })
  }
  if (parameters.has('storage_options')) {
    needs.push({ permission: 'ChooseLocation', kind, id, because: 'storage_options' })
  }
  return needs
}

/** A mode by its one name: `ExistOk`, `exist_ok` and LanceDB's `"\"ExistOk\""` are `existok`. Throws 400. */
export function modeOf(text: string, operation: OperationName, known: readonly string[]): string {
  const mode = modeName(text)
  if (!known.includes(mode)) {
    throw invalidInput(`${operation} has no mode ${show(text)}; it knows ${known.join(', ')}`)
  }
  return mode
}

/** The one name of a mode, known or not. */
export function modeName(text: string): string {
  return text
    .replace(/^"(.*)"$/, '$1')
    .replaceAll('_', '')
    .toLowerCase()
}
