import { invalidInput, type InterfaceError } from '../../interface/errors.ts'
import {
  assertIdentifier,
  assertName,
  sameIdentifier,
  show,
  type Identifier,
} from '../../interface/identifiers.ts'
import type { OperationName } from '../../interface/operations.ts'
import { assertBranch, assertTag } from '../../interface/reference-names.ts'
import type { PermissionNeed } from '../needs.ts'
import { modeOf } from '../route-facts.ts'
import { assertSpelling } from './spelling.ts'

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

type FactReader = (members: Members, id: Identifier) => PermissionNeed[]

/** The members that can turn an operation into something else than its route says. */
const readers: Partial<Record<OperationName, FactReader>> = {
  CreateNamespace: (members, id) =>
    optionalMode(members, 'mode', 'CreateNamespace', ['create', 'existok', 'overwrite']) === 'overwrite'
      ? everythingBeneath(id, 'mode Overwrite')
      : [],
  DropNamespace: (members, id) => {
    optionalMode(members, 'mode', 'DropNamespace', ['fail', 'skip'])
    return optionalMode(members, 'behavior', 'DropNamespace', ['restrict', 'cascade']) === 'cascade'
      ? everythingBeneath(id, 'behavior Cascade')
      : []
  },
  RegisterTable: (members, id) => [
    { permission: 'ChooseLocation', kind: 'table', id, because: 'location' },
    ...(optionalMode(members, 'mode', 'RegisterTable', ['create', 'overwrite']) === 'overwrite'
      ? [{ permission: 'OverwriteTable', kind: 'table', id, because: 'mode Overwrite' } as const]
      : []),
  ],
  DeclareTable: (members, id) => [
    ...(present(members, 'location')
      ? [{ permission: 'ChooseLocation', kind: 'table', id, because: 'location' } as const]
      : []),
    ...credentials(members, id),
  ],
  DescribeTable: credentials,
  RenameTable: (members, id) => [
    { permission: 'CreateTable', kind: 'table', id: destinationOf(members, id), because: 'the destination' },
  ],
  BatchCreateTableVersions: (members) =>
    listOf(members, 'entries').map((entry, index) => {
      const what = `entries[${index}]`
      confineManifest(entry, `${what}.`)
      return inner('CreateTableVersion', entry, what)
    }),
  BatchCommitTables: (members) => listOf(members, 'operations').map(batchOperation),
  CreateTableVersion: (members) => {
    confineManifest(members, '')
    return []
  },
  CreateTableBranch: branchItself,
  DeleteTableBranch: branchItself,
}

const batchMembers = {
  declare_table: 'DeclareTable',
  create_table_version: 'CreateTableVersion',
  delete_table_versions: 'BatchDeleteTableVersions',
  deregister_table: 'DeregisterTable',
} as const satisfies Record<string, OperationName>

/**
 * What a JSON body needs besides the operation of its route (every id in it is held to the grammar of ids).
 * Throws InvalidInput (400) where a member that decides has the wrong type or an unknown value.
 */
export function bodyNeeds(operation: OperationName, id: Identifier, members: Members): PermissionNeed[] {
  return readers[operation]?.(members, id) ?? []
}

/** Whether the body of the operation is read whole before anything is sent: it can ask for more than the route says. */
export function isDecidedByBody(operation: OperationName): boolean {
  return readers[operation] !== undefined
}

/** A list of strings, or undefined where the member is absent or null. Throws InvalidInput (400) for anything else. */
export function identifierMember(members: Members, name: string, what = name): Identifier | undefined {
  const value = member(members, name)
  if (value === undefined) return undefined
  if (!Array.isArray(value) || !value.every((part) => typeof part === 'string')) {
    throw invalidInput(`${show(what)} in the body is ${describe(value)}; expected a list of strings`)
  }
  return value
}

/** A string, or undefined where the member is absent or null. Throws InvalidInput (400) for anything else. */
export function stringMember(members: Members, name: string, what = name): string | undefined {
  const value = member(members, name)
  if (value === undefined || typeof value === 'string') return value
  throw invalidInput(`${show(what)} in the body is ${describe(value)}; expected a string`)
}

/** The members that name a branch or a tag. */
export const referenceMembers: ReadonlySet<string> = new Set(['branch', 'from_branch', 'tag'])

/** Throws InvalidInput (400) where a member names a branch or a tag that could not be one. */
export function assertReferences(members: Members): void {
  assertBranch(stringMember(members, 'branch'))
  assertBranch(stringMember(members, 'from_branch'))
  assertTag(stringMember(members, 'tag'))
}

function branchItself(members: Members): PermissionNeed[] {
  assertBranch(stringMember(members, 'name'))
  return []
}

function batchOperation(operation: Members, index: number): PermissionNeed {
  const names = Object.keys(batchMembers).filter((name) =>
    present(operation, name),
  ) as (keyof typeof batchMembers)[]
  const [name] = names
  if (name === undefined || Object.keys(operation).length !== 1) {
    throw invalidInput(
      `operations[${index}] holds ${Object.keys(operation).map(show).join(', ') || 'nothing'}; ` +
        `expected exactly one of ${Object.keys(batchMembers).join(', ')}`,
    )
  }
  const what = `operations[${index}].${name}`
  const request = objectOf(operation[name], what)
  if (name === 'create_table_version') confineManifest(request, `${what}.`)
  if (name === 'declare_table' && (present(request, 'location') || present(request, 'vend_credentials'))) {
    throw invalidInput(`${what} chooses a location or asks for credentials; declare such a table by itself`)
  }
  return inner(batchMembers[name], request, what)
}

function inner(permission: OperationName, request: Members, what: string): PermissionNeed {
  assertReferences(request)
  for (const name of ['identity', 'context']) {
    if (present(request, name))
      throw invalidInput(`${what}.${name} is not accepted inside a batch; send headers`)
  }
  const id = identifierMember(request, 'id', `${what}.id`)
  if (id === undefined || id.length === 0)
    throw invalidInput(`${what} names no table; expected "id", a list of strings`)
  return { permission, kind: 'table', id: assertIdentifier(id), because: what, entry: request }
}

/** Where a table is renamed to. Throws InvalidInput (400) where the body does not say. */
export function destinationOf(members: Members, id: Identifier): Identifier {
  const name = stringMember(members, 'new_table_name')
  if (name === undefined) throw invalidInput('RenameTable needs "new_table_name" in the body')
  assertName(name, 'new_table_name')
  const namespace = identifierMember(members, 'new_namespace_id')
  // The name of the same member in LanceDB's remote client.
  const alias = identifierMember(members, 'new_namespace')
  if (namespace !== undefined && alias !== undefined && !sameIdentifier(namespace, alias)) {
    throw invalidInput('"new_namespace_id" and "new_namespace" in the body differ')
  }
  return assertIdentifier([...(namespace ?? alias ?? id.slice(0, -1)), name])
}

/**
 * A commit names its staging manifest by an object-store key. Whether it lies under the table only the catalog
 * knows; that it is a staging manifest of some table, and reached without a detour, can be told here.
 */
function confineManifest(members: Members, where: string): void {
  const path = stringMember(members, 'manifest_path', `${where}manifest_path`)
  if (path === undefined) throw invalidInput(`the body has no "${where}manifest_path", the staging manifest`)
  const segments = path
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^\//, '')
    .split('/')
  const plain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  // oxlint-disable-next-line no-control-regex
  if (!plain || /[\u0000-\u001f\\%]/.test(path) || segments.at(-2) !== '_versions') {
    throw invalidInput(
      `"${where}manifest_path" is ${show(path)}; expected the path of a staging manifest in a folder "_versions"`,
    )
  }
}

function everythingBeneath(id: Identifier, because: string): PermissionNeed[] {
  return (['DropTable', 'DropNamespace'] as const).map((permission) => ({
    permission,
    kind: 'namespace',
    id,
    beneath: true,
    because,
  }))
}

function credentials(members: Members, id: Identifier): PermissionNeed[] {
  const wanted = member(members, 'vend_credentials')
  if (wanted !== undefined && typeof wanted !== 'boolean') {
    throw invalidInput(`"vend_credentials" in the body is ${describe(wanted)}; expected true or false`)
  }
  return wanted === true
    ? [{ permission: 'VendCredentials', kind: 'table', id, because: 'vend_credentials' }]
    : []
}

function optionalMode(members: Members, name: string, operation: OperationName, known: readonly string[]) {
  const mode = stringMember(members, name)
  return mode === undefined ? undefined : modeOf(mode, operation, known)
}

function listOf(members: Members, name: string): Members[] {
  const value = member(members, name)
  if (!Array.isArray(value) || value.length === 0) {
    throw invalidInput(`"${name}" in the body is ${describe(value)}; expected a list of at least one object`)
  }
  return value.map((entry, index) => objectOf(entry, `${name}[${index}]`))
}

function objectOf(value: unknown, what: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notAnObject(value, what)
  for (const name of Object.keys(value)) assertSpelling(name)
  return value as Members
}

function notAnObject(value: unknown, what: string): InterfaceError {
  return invalidInput(`"${what}" in the body is ${describe(value)}; expected an object`)
}

function present(members: Members, name: string): boolean {
  return member(members, name) !== undefined
}

/** A member of its own (never of a prototype); null is absent. */
function member(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined
}

function describe(value: unknown): string {
  if (value === undefined) return 'absent'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : show(JSON.stringify(value))
}
