import {
  CatalogError,
  formatIdentifierForMessage,
  functionOrSecretNotFound,
  type Identifier,
  invalidInput,
  quoteForMessage,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import {
  findFunction,
  hasFunction,
  listFunctionEntries,
  listFunctions as listStoredFunctions,
  removeFunction,
  type FunctionEntry,
  type FunctionPosition,
} from '../../database/functions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNameInNamespace, requireNamespace } from '../context/require-objects.ts'
import { pageTokenMember, toPage, toSlice } from '../namespaces/listings.ts'
import { toFunctionVersion } from './function-version.ts'

/** Definitions may be large. */
const maxDefinitionsOfPage = 20

/** Returns a version as it was sent. Throws NamespaceNotFound, or TableNotFound for the function (both 404). */
export async function describeFunction(
  { database }: CatalogContext,
  id: Identifier,
  { version }: RequestOf<'DescribeFunction'>,
): Promise<ResponseOf<'DescribeFunction'>> {
  const named = await requireNameInNamespace(database, id)
  const found = await findFunction(database, named, parseVersion(version))
  if (found === undefined) {
    if (!(await hasFunction(database, named))) throw functionOrSecretNotFound('function', id)
    throw versionNotFoundError(id, version)
  }
  return toFunctionVersion(id.slice(0, -1), found.entry, found.content)
}

/**
 * Drops a function with all of its versions, of which the request names one, as LanceDB's clients expect it. `dropped` is
 * false if there is no such function. Throws NamespaceNotFound, or TableNotFound for the version (both 404).
 */
export async function dropFunction(
  { database }: CatalogContext,
  id: Identifier,
  { version }: RequestOf<'DropFunction'>,
): Promise<ResponseOf<'DropFunction'>> {
  const dropped = await database.transaction().execute(async (database) => {
    const named = await requireNameInNamespace(database, id)
    if ((await findFunction(database, named, parseVersion(version))) === undefined) {
      if (await hasFunction(database, named)) throw versionNotFoundError(id, version)
      return false
    }
    await removeFunction(database, named)
    return true
  })
  return { dropped }
}

/** Lists all versions of the functions of a namespace, in the byte order of their names. */
export async function listFunctions(
  { database }: CatalogContext,
  id: Identifier,
  { include_definition: hasDefinitions, ...request }: RequestOf<'ListFunctions'>,
): Promise<ResponseOf<'ListFunctions'>> {
  const { objectId: namespaceId } = await requireNamespace(database, id)
  const limit = hasDefinitions ? Math.min(request.limit ?? Infinity, maxDefinitionsOfPage) : request.limit
  const slice = toSlice({ ...request, limit })
  const positions = {
    after: slice.after === undefined ? undefined : parseToken(slice.after),
    limit: slice.limit,
  }
  const found: readonly (FunctionPosition | FunctionEntry)[] = hasDefinitions
    ? await listFunctionEntries(database, namespaceId, positions)
    : await listStoredFunctions(database, namespaceId, positions)
  const { entries, token } = toPage(found.map(formatToken), slice.after, limit)
  return {
    functions: found.slice(0, entries.length).map((entry) => ({
      name: entry.name,
      version: String(entry.version),
      ...('definition' in entry && { definition: toFunctionVersion(id, entry) }),
    })),
    ...pageTokenMember(token),
  }
}

/** No version is 0. */
function parseVersion(text: string): number {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0
}

/** Names contain no slash. */
function formatToken({ name, version }: FunctionPosition): string {
  return `${name}/${version}`
}

function parseToken(token: string): FunctionPosition {
  const [name = '', version = '0', ...others] = token.split('/')
  if (!/^\d{1,15}$/.test(version) || others.length > 0) {
    throw invalidInput('invalid page_token for a listing of functions; start again without a page_token')
  }
  return { name, version: Number(version) }
}

function versionNotFoundError(id: Identifier, version: string): CatalogError {
  const text = `there is no version ${quoteForMessage(version)} of the function ${formatIdentifierForMessage(id)}`
  return new CatalogError('TableNotFound', text)
}
