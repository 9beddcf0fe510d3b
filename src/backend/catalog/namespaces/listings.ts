import {
  formatIdentifier,
  type Identifier,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import { listNamespaceNames, listTableNames, listTablePaths, type Slice } from '../../database/listings.ts'
import { fromPath } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { firstPageToken } from '../context/page-by-name.ts'
import { requireNamespace } from '../context/require-objects.ts'

/** Lists the names of the direct child namespaces in the byte order of UTF-8. The token is the last name. */
export async function listNamespaces(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListNamespaces'>,
): Promise<ResponseOf<'ListNamespaces'>> {
  const { path } = await requireNamespace(context.database, id)
  const slice = toSlice(request)
  const names = await listNamespaceNames(context.database, path, slice)
  const { entries, token } = toPage(names, slice.after, request.limit)
  return { namespaces: entries, ...pageTokenMember(token) }
}

export async function listTables(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListTables'>,
): Promise<ResponseOf<'ListTables'>> {
  const { path } = await requireNamespace(context.database, id)
  const slice = toSlice(request)
  const names = await listTableNames(context.database, path, request.include_declared, slice)
  const { entries, token } = toPage(names, slice.after, request.limit)
  return { tables: entries, ...pageTokenMember(token) }
}

/**
 * Lists full ids, joined by the delimiter of the request. Throws InvalidInput (400) if a name contains the delimiter.
 */
export async function listAllTables(
  context: CatalogContext,
  delimiter: string,
  request: RequestOf<'ListAllTables'>,
): Promise<ResponseOf<'ListAllTables'>> {
  const slice = toSlice({ ...request, page_token: decodeToken(request.page_token) })
  const paths = await listTablePaths(context.database, request.include_declared, slice)
  const { entries, token } = toPage(paths, slice.after, request.limit)
  return {
    tables: entries.map((path) => formatIdentifier(fromPath(path), delimiter)),
    ...pageTokenMember(token === undefined ? undefined : Buffer.from(token).toString('base64url')),
  }
}

interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

/** Requests one entry more than the page holds, to learn whether another page follows. */
function toSlice({ page_token: token, limit }: PageRequest): Slice {
  return {
    after: token === undefined || token === '' ? undefined : token,
    limit: limit === undefined ? undefined : limit + 1,
  }
}

/** The token is the last name if another page follows; for an empty page, that of the request. */
function toPage(
  found: string[],
  after: string | undefined,
  limit: number | undefined,
): { entries: string[]; token: string | undefined } {
  if (limit === undefined || found.length <= limit) return { entries: found, token: undefined }
  const entries = found.slice(0, limit)
  return { entries, token: entries.at(-1) ?? after ?? firstPageToken }
}

function pageTokenMember(token: string | undefined): { page_token?: string } {
  return token === undefined ? {} : { page_token: token }
}

function decodeToken(token: string | undefined): string | undefined {
  return token === undefined ? undefined : Buffer.from(token, 'base64url').toString()
}
