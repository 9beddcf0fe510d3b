import {
  complete,
  type ExtraOperationName,
  getOperation,
  isOperationName,
  type Operation,
  type OperationName,
  operationNames,
  type ParameterType,
  type PermissionGroup,
  referenceData,
} from './operations.ts'
import { permissionNames } from './permissions.ts'
import { foldName } from './reserved-names.ts'

/*
 * Extra operations: operations of an upstream that the catalog API does not have. The settings declare them; they are
 * values that are passed to the route table, the permission table of the policies, and the OpenAPI document. Nothing
 * registers them globally, so gateways in one process do not share them. An extra operation acts on the table in its path,
 * states no facts, and has an unknown branch; so a decision on that table depends on its name alone. Declared members of
 * its body name further objects, which other operations must be allowed on.
 * Records of audit logs outlive settings: code that reads them finds no definition, only the name.
 */

/** Declaration of an extra operation. The operation acts on the table that its path names. */
export interface ExtraOperationDeclaration {
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** Below `/v1/table/{id}/`, in the form that the upstream takes: with a slash at its end or without. */
  readonly path: string
  readonly effect: 'read' | 'change'
  /** Undefined if policies must name the operation. */
  readonly group?: PermissionGroup | undefined
  readonly query: Readonly<Record<string, ParameterType>>
  /** Members of the JSON body that hold the id of a further object, with the operation that must be allowed on it. */
  readonly idMembers: Readonly<Record<string, OperationName>>
  /** Further members of the JSON body, whose values are not interpreted. All others are refused. */
  readonly members: readonly string[]
  readonly body: 'none' | 'json' | 'arrow'
  readonly response: 'json' | 'arrow'
}

function createExtraOperation(declaration: ExtraOperationDeclaration): Operation {
  const { name, method, path, effect, group, query, idMembers, members, body, response } = declaration
  if (!isValidName(name)) throw new Error(`${name} cannot be the name of an extra operation`)
  return complete(name, {
    summary: `${name}, which only some catalogs have.`,
    method,
    path,
    object: 'table',
    query,
    body,
    columnMetadata: body === 'arrow' ? 'stored' : undefined,
    unknownBranch: 'always',
    requires: [
      ...Object.entries(idMembers).map(([idMember, permission]) => ({
        permission,
        on: { idMember },
        requiredBy: `the member ${idMember}`,
      })),
      ...(body === 'arrow' ? [referenceData] : []),
    ],
    // Nothing is known of the JSON that it returns.
    vends: response === 'json',
    members,
    recorded: [...Object.keys(query), ...Object.keys(idMembers)],
    effect,
    group,
    isDelegated: false,
    response,
    removesName: group === 'drop',
    // The effect of a change on the table is unknown.
    moves: effect !== 'read',
  })
}

/** Creates the extra operations of several upstreams, each name once. */
export function createExtraOperations(
  upstreams: readonly { readonly extraOperations?: readonly ExtraOperationDeclaration[] | undefined }[],
): readonly Operation[] {
  const declared = upstreams.flatMap(({ extraOperations = [] }) => extraOperations)
  const byName = new Map(declared.map((declaration) => [declaration.name, declaration]))
  return [...byName.values()].map(createExtraOperation)
}

export function isExtraOperation({ name }: Operation): boolean {
  return !isOperationName(name)
}

/** Names in the position of an operation in metrics and logs. */
const otherOperationNames = ['PassThrough']

/** Pattern of the names of extra operations. */
export const extraOperationNamePattern = '^[A-Z][A-Za-z0-9]{0,63}$'
const nameGrammar = new RegExp(extraOperationNamePattern)

function isValidName(name: string): name is ExtraOperationName {
  return describeNameProblem(name) === undefined
}

/** Returns why the name is not valid for an extra operation; undefined if it is. Case is ignored in comparisons. */
export function describeNameProblem(name: string): string | undefined {
  if (!nameGrammar.test(name))
    return `${JSON.stringify(name)} is not a name; expected a capital letter, then up to 63 letters and digits, such as PrewarmTable`
  const taken = [...permissionNames, ...otherOperationNames].find((one) => isSameWord(one, name))
  return taken === undefined
    ? undefined
    : `the name ${taken} is taken by the catalog API; expected another one`
}

const pathGrammar = /^\/v1\/table\/\{id\}(?:\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}){1,8}\/?$/

/** Returns why the path is not valid for an extra operation; undefined if it is. */
export function describePathProblem(path: string): string | undefined {
  if (!pathGrammar.test(path)) {
    return `${JSON.stringify(path)} is not a path of an operation on a table; expected /v1/table/{id}/ and 1 to 8 segments of letters, digits, "_" and "-", such as /v1/table/{id}/file_cache/prewarm`
  }
  for (const operationName of operationNames) {
    const operation = getOperation(operationName)
    const taken = [operation.path, ...operation.aliases].find((other) => unifies(path, other))
    if (taken !== undefined)
      return `a request for ${path} could be one for ${operationName} (${taken}), which the gateway serves already; expected a path of its own, or omit the operation`
  }
  return undefined
}

/**
 * Whether some request path could match both paths. Case, dashes and underscores are ignored, as the most lenient server
 * does, and so is a slash at the end.
 */
export function unifies(one: string, other: string): boolean {
  const [segments, others] = [splitPath(one), splitPath(other)]
  return (
    segments.length === others.length &&
    segments.every((segment, index) => {
      const counterpart = others[index] ?? ''
      return isPlaceholder(segment) || isPlaceholder(counterpart) || isSameWord(segment, counterpart)
    })
  )
}

function splitPath(path: string): readonly string[] {
  return path.replace(/\/$/, '').split('/')
}

function isPlaceholder(segment: string): boolean {
  return segment.startsWith('{')
}

function isSameWord(one: string, other: string): boolean {
  return foldName(one) === foldName(other)
}
