import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import { show, type Identifier } from '../../interface/identifiers.ts'
import { showIdentifier } from '../../interface/not-found.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import type { StoredVersion } from '../engine/engine.ts'
import type { Properties, TableEntry } from '../store/objects.ts'
import { findVersionMetadata } from '../store/versions.ts'
import { branchNotFound, branchOf, mainBranch } from './branches.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { requireTable } from './lookup.ts'
import { settleIfUnfinished } from './settle-versions.ts'

/** A version in the form of the interface. */
export type TableVersion = ResponseOf<'CreateTableVersion'>['version']

/**
 * The versions of a table, from the oldest on unless `descending`; none of a table that is only declared. The
 * page token is the last version of the page. Throws TableNotFound or TableBranchNotFound (404).
 */
export async function listTableVersions(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'ListTableVersions'>,
): Promise<ResponseOf<'ListTableVersions'>> {
  const branch = branchOf(request.branch)
  const table = await requireTable(catalog.database, id)
  await settleIfUnfinished(catalog, table)
  const location = locationOf(catalog, table)
  const { descending, limit } = request
  const after = readToken(request.page_token)
  if (descending && limit === 1 && after === undefined) {
    // What clients ask before nearly every read and write.
    const latest = await catalog.manifests.describe(location, undefined, branch)
    if (latest === undefined) return noVersions(branch)
    const more = latest.version > 1 ? { page_token: String(latest.version) } : {}
    return { versions: await withMetadata(catalog, table, branch, [latest]), ...more }
  }
  const stored = await catalog.manifests.list(location, branch)
  if (stored.length === 0) return noVersions(branch)
  const ordered = descending ? stored : stored.toReversed()
  const rest = ordered.filter(
    ({ version }) => after === undefined || (descending ? version < after : version > after),
  )
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    versions: await withMetadata(catalog, table, branch, page),
    ...(page.length < rest.length && last !== undefined ? { page_token: String(last.version) } : {}),
  }
}

/** One version of a table, the newest when none is named. Throws TableNotFound or TableVersionNotFound (404). */
export async function describeTableVersion(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'DescribeTableVersion'>,
): Promise<ResponseOf<'DescribeTableVersion'>> {
  const branch = branchOf(request.branch)
  const table = await requireTable(catalog.database, id)
  await settleIfUnfinished(catalog, table)
  const stored = await catalog.manifests.describe(locationOf(catalog, table), request.version, branch)
  const [version] = await withMetadata(catalog, table, branch, stored === undefined ? [] : [stored])
  if (version !== undefined) return { version }
  throw new InterfaceError(
    'TableVersionNotFound',
    `the table ${showIdentifier(id)} has no version${request.version === undefined ? '' : ` ${request.version}`}`,
  )
}

/** A stored version as it is answered. */
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

/** Versions next to each other, in either order, as they are answered with what clients committed them with. */
async function withMetadata(
  catalog: CatalogParts,
  table: TableEntry,
  branch: string,
  page: readonly StoredVersion[],
): Promise<TableVersion[]> {
  const [first, last] = [page.at(0), page.at(-1)]
  if (first === undefined || last === undefined) return []
  const range = [Math.min(first.version, last.version), Math.max(first.version, last.version)] as const
  const metadata = await findVersionMetadata(catalog.database, table.objectId, branch, range)
  return page.map((version) => toTableVersion(version, metadata.get(version.version)))
}

function noVersions(branch: string): ResponseOf<'ListTableVersions'> {
  if (branch !== mainBranch) throw branchNotFound(branch)
  return { versions: [] }
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined || token === '') return undefined
  if (!/^\d{1,15}$/.test(token))
    throw invalidInput(`invalid page_token ${show(token)}; expected a token of a previous response`)
  return Number(token)
}
