import { isLenientObject, readLeniently, type LenientObject, type LenientValue } from './lenient-json.ts'
import type { Reading } from './readings.ts'

/** What somebody may find in the body of a request. */
export interface BodyReadings {
  /** Ids that would win over the one in the route. */
  readonly ids: readonly (readonly string[])[]
  /** What it does besides the operation of its route. */
  readonly inner: readonly Reading[]
  /** Claims about the caller. */
  readonly claims: readonly string[]
}

const nothing: BodyReadings = { ids: [], inner: [], claims: [] }
const credentialNames = /^(?:x-api-key|authorization|cookie|proxy-authorization)$/

/** Reads a body as leniently as anybody would. */
export function readingsOfBody(operation: string, id: readonly string[], body: Buffer): BodyReadings {
  const root = readLeniently(body)
  if (root === undefined) return nothing
  // The body of this one is data of the caller, unless it is wrapped.
  if (operation === 'UpdateTableSchemaMetadata' && !valuesOf(root, 'metadata').some(isLenientObject))
    return nothing
  const within = [root, ...valuesOf(root, 'query').filter(isLenientObject)]
  return {
    ids: within.flatMap(idsOf),
    inner: [...batchOf(operation, root), ...destinationsOf(operation, id, root)],
    claims: within.flatMap(claimsOf),
  }
}

function batchOf(operation: string, root: LenientObject): Reading[] {
  if (operation === 'BatchCreateTableVersions')
    return itemsOf(root, 'entries').flatMap((entry) => readings('CreateTableVersion', entry))
  if (operation !== 'BatchCommitTables') return []
  const names = {
    declare_table: 'DeclareTable',
    create_table_version: 'CreateTableVersion',
    delete_table_versions: 'BatchDeleteTableVersions',
    deregister_table: 'DeregisterTable',
  }
  return itemsOf(root, 'operations').flatMap((item) =>
    Object.entries(names).flatMap(([member, name]) =>
      valuesOf(item, member)
        .filter(isLenientObject)
        .flatMap((request) => readings(name, request)),
    ),
  )
}

function readings(operation: string, request: LenientObject): Reading[] {
  return idsOf(request).map((id) => ({ operation, id }))
}

function destinationsOf(operation: string, id: readonly string[], root: LenientObject): Reading[] {
  if (operation !== 'RenameTable') return []
  const named = [...valuesOf(root, 'new_namespace_id'), ...valuesOf(root, 'new_namespace')].flatMap(idsFrom)
  const namespaces = named.length === 0 ? [id.slice(0, -1)] : named
  return valuesOf(root, 'new_table_name').flatMap((name) =>
    typeof name === 'string'
      ? namespaces.map((namespace) => ({ operation: 'CreateTable', id: [...namespace, name] }))
      : [],
  )
}

function claimsOf(request: LenientObject): string[] {
  const identities = valuesOf(request, 'identity').filter((value) => value !== null)
  const entries = valuesOf(request, 'context')
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

function idsOf(request: LenientObject): (readonly string[])[] {
  return valuesOf(request, 'id').flatMap(idsFrom)
}

/** A list of names, or one text in which they are joined. */
function idsFrom(value: LenientValue): (readonly string[])[] {
  if (typeof value === 'string') return [value.split('$')]
  return Array.isArray(value) && value.every((part) => typeof part === 'string') ? [value] : []
}

function itemsOf(object: LenientObject, name: string): LenientObject[] {
  return valuesOf(object, name)
    .flatMap((value) => (Array.isArray(value) ? (value as LenientValue[]) : []))
    .filter(isLenientObject)
}

/** All values of a member, also where its name stands twice, in other letters, or in front of a NUL. */
function valuesOf({ members }: LenientObject, name: string): LenientValue[] {
  return members.filter(([own]) => folded(own) === name).map(([, value]) => value)
}

function folded(name: string): string {
  return name.replace(/\0.*$/s, '').toUpperCase().toLowerCase()
}
