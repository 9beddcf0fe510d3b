import { isLenientObject, parseLenientJson, type LenientObject, type LenientValue } from './lenient-json.ts'
import type { Interpretation } from './interpretation.ts'

export interface BodyInterpretations {
  /** Ids that some catalogs prefer to the one in the route. */
  readonly ids: readonly (readonly string[])[]
  /** Further operations that the body requests. */
  readonly nested: readonly Interpretation[]
  /** What the body selects of a table. */
  readonly selection: Selection
  /** Members that state who the caller is. */
  readonly claims: readonly string[]
}

/** All values that some catalog reads. */
export interface Selection {
  readonly conditions: readonly LenientValue[]
  readonly columns: readonly LenientValue[]
  /** Versions and branches. */
  readonly points: readonly LenientValue[]
}

const nothing: Selection = { conditions: [], columns: [], points: [] }
const none: BodyInterpretations = { ids: [], nested: [], selection: nothing, claims: [] }
const credentialNames = /^(?:x-api-key|authorization|cookie|proxy-authorization)$/

/** Returns everything that some catalog reads from a body. */
export function interpretBody(operation: string, id: readonly string[], body: Buffer): BodyInterpretations {
  const root = parseLenientJson(body)
  if (root === undefined) return none
  // Unless wrapped, the whole body is metadata.
  if (operation === 'UpdateTableSchemaMetadata' && !getValues(root, 'metadata').some(isLenientObject))
    return none
  const requests = [root, ...getValues(root, 'query').filter(isLenientObject)]
  return {
    ids: requests.flatMap(readIds),
    nested: [...readBatch(operation, root), ...readDestinations(operation, id, root)],
    selection: readSelection(requests),
    claims: requests.flatMap(readClaims),
  }
}

function readSelection(requests: readonly LenientObject[]): Selection {
  const read = (...names: readonly string[]): readonly LenientValue[] =>
    requests
      .flatMap((request) => names.flatMap((name) => getValues(request, name)))
      .filter((value) => value !== null)
  return {
    conditions: read('filter', 'predicate'),
    columns: read('columns'),
    points: read('version', 'branch', 'tag').filter((value) => value !== '' && value !== 'main'),
  }
}

function readBatch(operation: string, root: LenientObject): Interpretation[] {
  if (operation === 'BatchCreateTableVersions')
    return getItems(root, 'entries').flatMap((entry) => interpretRequest('CreateTableVersion', entry))
  if (operation !== 'BatchCommitTables') return []
  const names = {
    declare_table: 'DeclareTable',
    create_table_version: 'CreateTableVersion',
    delete_table_versions: 'BatchDeleteTableVersions',
    deregister_table: 'DeregisterTable',
  }
  return getItems(root, 'operations').flatMap((item) =>
    Object.entries(names).flatMap(([member, name]) =>
      getValues(item, member)
        .filter(isLenientObject)
        .flatMap((request) => interpretRequest(name, request)),
    ),
  )
}

function interpretRequest(operation: string, request: LenientObject): Interpretation[] {
  return readIds(request).map((id) => ({ operation, id }))
}

function readDestinations(operation: string, id: readonly string[], root: LenientObject): Interpretation[] {
  if (operation !== 'RenameTable') return []
  const named = [...getValues(root, 'new_namespace_id'), ...getValues(root, 'new_namespace')].flatMap(
    parseIds,
  )
  const namespaces = named.length === 0 ? [id.slice(0, -1)] : named
  return getValues(root, 'new_table_name').flatMap((name) =>
    typeof name === 'string'
      ? namespaces.map((namespace) => ({ operation: 'CreateTable', id: [...namespace, name] }))
      : [],
  )
}

function readClaims(request: LenientObject): string[] {
  const identities = getValues(request, 'identity').filter((value) => value !== null)
  const entries = getValues(request, 'context')
    .filter(isLenientObject)
    .flatMap(({ members }) => members.map(([name]) => name.toLowerCase().trim()))
  const claimed = entries.filter(
    (name) =>
      name.startsWith('gateway') ||
      /^header\.x-(?:catalog|lance)-ctx-gateway/.test(name) ||
      credentialNames.test(name.replace('header.', '')),
  )
  return [...identities.map(() => 'identity'), ...claimed]
}

function readIds(request: LenientObject): (readonly string[])[] {
  return getValues(request, 'id').flatMap(parseIds)
}

/** Reads a list of names, or names joined with `$`. */
function parseIds(value: LenientValue): (readonly string[])[] {
  if (typeof value === 'string') return [value.split('$')]
  return Array.isArray(value) && value.every((part) => typeof part === 'string') ? [value] : []
}

function getItems(object: LenientObject, name: string): LenientObject[] {
  return getValues(object, name)
    .flatMap((value) => (Array.isArray(value) ? (value as LenientValue[]) : []))
    .filter(isLenientObject)
}

/** Returns the values of all members with the name, ignoring letter case and anything after a NUL. */
function getValues({ members }: LenientObject, name: string): LenientValue[] {
  return members.filter(([memberName]) => foldName(memberName) === name).map(([, value]) => value)
}

function foldName(name: string): string {
  return name.replace(/\0.*$/s, '').toUpperCase().toLowerCase()
}
