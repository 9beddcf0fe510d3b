import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  quoteForMessage,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import type { ListedVersion, StoredVersion } from '../../engine/manifest/manifest-records.ts'
import type { Properties, TableEntry } from '../../database/objects.ts'
import { findVersionMetadata } from '../../database/versions.ts'
import { branchNotFoundError, normalizeBranch, mainBranch } from '../context/branches.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/require-objects.ts'
import { reconcileIfPending } from '../consistency/reconcile-versions.ts'

export type TableVersion = ResponseOf<'DescribeTableVersion'>['version']

/**
 * Oldest first unless `descending`. The token is the last version. Throws TableNotFound or TableBranchNotFound (404).
 */
export async function listTableVersions(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListTableVersions'>,
): Promise<ResponseOf<'ListTableVersions'>> {
  const branch = normalizeBranch(request.branch)
  const table = await requireTable(context.database, id)
  await reconcileIfPending(context, table)
  const location = tableLocation(context, table)
  const { descending, limit } = request
  const after = parsePageToken(request.page_token)
  if (descending && limit === 1 && after === undefined) {
    // Clients request this before nearly every read and write.
    const latest = await context.manifestStore.describe(location, undefined, branch)
    if (latest === undefined) return emptyListing(branch)
    const more = latest.version > 1 ? { page_token: String(latest.version) } : {}
    return { versions: await addMetadata(context, table, branch, [latest]), ...more }
  }
  const stored = await context.manifestStore.list(location, branch)
  if (stored.length === 0) return emptyListing(branch)
  const ordered = descending ? stored : stored.toReversed()
  const rest = ordered.filter(
    ({ version }) => after === undefined || (descending ? version < after : version > after),
  )
  const page = rest.slice(0, limit)
  const read = await Promise.all(page.map((version) => version.read()))
  const found = read.filter((version) => version !== undefined)
  const last = page.at(-1)?.version ?? after ?? beforeAll(stored, descending)
  return {
    versions: await addMetadata(context, table, branch, found),
    ...(page.length < rest.length ? { page_token: String(last) } : {}),
  }
}

/** Where a listing starts, as the version of a page token; `stored` has the newest version first. */
function beforeAll([newest]: readonly ListedVersion[], descending: boolean | undefined): number {
  return descending && newest !== undefined ? newest.version + 1 : 0
}

/** Describes one version, by default the newest. Throws TableNotFound or TableVersionNotFound (404). */
export async function describeTableVersion(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'DescribeTableVersion'>,
): Promise<ResponseOf<'DescribeTableVersion'>> {
  const branch = normalizeBranch(request.branch)
  const table = await requireTable(context.database, id)
  await reconcileIfPending(context, table)
  const stored = await context.manifestStore.describe(tableLocation(context, table), request.version, branch)
  const [version] = await addMetadata(context, table, branch, stored === undefined ? [] : [stored])
  if (version !== undefined) return { version }
  throw new CatalogError(
    'TableVersionNotFound',
    `the table ${formatIdentifierForMessage(id)} has no version${request.version === undefined ? '' : ` ${request.version}`}`,
  )
}

export function toTableVersion(stored: StoredVersion, metadata: Properties | undefined): TableVersion {
  return {
    version: stored.version,
    manifest_path: stored.manifestPath,
    manifest_size: stored.manifestSize,
    e_tag: stored.eTag,
    timestamp_millis: stored.timestampMillis,
    timestamp: new Date(stored.timestampMillis).toISOString(),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  }
}

/** Takes consecutive versions in either order and adds the metadata that clients committed with them. */
async function addMetadata(
  context: CatalogContext,
  table: TableEntry,
  branch: string,
  page: readonly StoredVersion[],
): Promise<TableVersion[]> {
  const [first, last] = [page.at(0), page.at(-1)]
  if (first === undefined || last === undefined) return []
  const range = [Math.min(first.version, last.version), Math.max(first.version, last.version)] as const
  const metadata = await findVersionMetadata(context.database, table.objectId, branch, range)
  return page.map((version) => toTableVersion(version, metadata.get(version.version)))
}

function emptyListing(branch: string): ResponseOf<'ListTableVersions'> {
  if (branch !== mainBranch) throw branchNotFoundError(branch)
  return { versions: [] }
}

function parsePageToken(token: string | undefined): number | undefined {
  if (token === undefined || token === '') return undefined
  if (!/^\d{1,15}$/.test(token))
    throw invalidInput(
      `invalid page_token ${quoteForMessage(token)}; expected a token of a previous response`,
    )
  return Number(token)
}
