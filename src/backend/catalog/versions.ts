import {
  canonicalizeBranch,
  invalidInput,
  quoteForMessage,
  transactionNotFound,
} from 'catalog-gateway/catalog-api'
import type { RequestOf, ResponseOf } from '../schemas/operation-schemas.ts'
import { findObject, type Properties, type TableEntry } from '../database/objects.ts'
import { findVersionMetadata } from '../database/versions.ts'
import {
  findManifest,
  findTransaction,
  listManifests,
  type StoredVersion,
} from '../engine/manifest/manifest-files.ts'
import { branchNotFoundError, mainBranch, tableLocation, type CatalogContext } from './context.ts'
import { requireTable, requirePoint, hasData, resolvePoint, versionNotFoundError } from './find-table.ts'
import { reconcileIfPending } from './reconcile.ts'
import type { Operations } from './operations.ts'
import { takePage } from './pages.ts'

export type TableVersion = ResponseOf<'DescribeTableVersion'>['version']

export const versionOperations = {
  /**
   * Oldest first unless `descending`. The token is the last version. Throws TableNotFound or TableBranchNotFound (404).
   */
  async ListTableVersions(context, { id, request }) {
    const branch = canonicalizeBranch(request.branch)
    const table = await requireTable(context.database, id)
    await reconcileIfPending(context, table.objectId)
    const location = tableLocation(context, table)
    const { descending, limit, page_token: token = '' } = request
    if (!/^\d{0,16}$/.test(token)) {
      const sent = quoteForMessage(token)
      throw invalidInput(`invalid page_token ${sent}; expected a token of a previous response`)
    }
    const after = Number(token || (descending ? Number.MAX_SAFE_INTEGER : 0))
    // Clients request the newest version before nearly every read and write.
    const newest = descending && token === '' && limit !== undefined ? limit + 1 : undefined
    const stored = await listManifests(context.storage, { location, branch }, newest)
    if (stored.length === 0 && branch !== mainBranch) throw branchNotFoundError(branch)
    const ordered = descending ? stored : stored.toReversed()
    const rest = ordered.filter(({ version }) => (descending ? version < after : version > after))
    const page = takePage(rest, ({ version }) => `${version}`, { limit, page_token: `${after}` })
    const read = await Promise.all(page.entries.map((version) => version.read()))
    const found = read.filter((version) => version !== undefined)
    return { versions: await addMetadata(context, table, branch, found), ...page.token }
  },

  /** Describes one version, by default the newest. Throws TableNotFound or TableVersionNotFound (404). */
  async DescribeTableVersion(context, { id, request }) {
    const branch = canonicalizeBranch(request.branch)
    const table = await requireTable(context.database, id)
    await reconcileIfPending(context, table.objectId)
    const point = { location: tableLocation(context, table), branch, version: request.version }
    const stored = await findManifest(context.storage, point)
    const [version] = await addMetadata(context, table, branch, stored === undefined ? [] : [stored])
    if (version === undefined) throw versionNotFoundError(table, branch, request.version)
    return { version }
  },

  /** Adds a new version with the old content. Throws TableNotFound, TableBranchNotFound or TableVersionNotFound (404). */
  async RestoreTable(context, { id, request: { branch, version } }) {
    const { table, point } = await requirePoint(context, id, { branch, version })
    await context.dataLock.runShared(table.objectId, () => context.engine.restore({ ...point, version }))
    return {}
  },

  /** The id is that of the table, then the UUID of the transaction or its version. Throws TransactionNotFound (404). */
  async DescribeTransaction(context, { id }) {
    const tableId = id.slice(0, -1)
    const name = id.at(-1)
    if (name === undefined || tableId.length === 0) {
      throw invalidInput('expected the id of a table followed by a transaction: its UUID, or a version')
    }
    const table = await findObject(context.database, tableId)
    // The catalog API defines no other 404 here.
    if (table?.kind !== 'table' || !(await hasData(context, table))) throw transactionNotFound(id)
    const location = tableLocation(context, table)
    const branches = [...(await context.engine.branches.list(location)).keys()]
    const transaction = await findTransaction(context.storage, location, branches, name)
    if (transaction === undefined) throw transactionNotFound(id)
    const { uuid, version, readVersion, kind, branch } = transaction
    return {
      status: 'Succeeded',
      properties: {
        uuid,
        version: `${version}`,
        read_version: `${readVersion}`,
        ...(kind === undefined ? {} : { operation: kind }),
        ...(branch === undefined ? {} : { branch }),
      },
    }
  },
} satisfies Operations

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

/**
 * Determines which versions of a branch BatchDeleteTableVersions deletes, oldest first. The end -1 includes the newest
 * version. Throws InvalidInput (400) for a range that names the newest version, which a table cannot lose, a tagged version
 * or a branch point. The caller holds the commit lock.
 */
export async function planDeletion(
  context: CatalogContext,
  table: TableEntry,
  { branch: requested, ranges }: RequestOf<'BatchDeleteTableVersions'>,
): Promise<{ readonly branch: string; readonly versions: readonly number[] }> {
  const { location } = await resolvePoint(context, table, { branch: requested })
  const branch = canonicalizeBranch(requested)
  const stored = await listManifests(context.storage, { location, branch })
  for (const { start_version: start, end_version: end } of ranges) {
    if (end !== -1 && end < start) throw invalidInput(`invalid range: start ${start}, end ${end}`)
  }
  const isNamed = (version: number): boolean =>
    ranges.some(
      ({ start_version: start, end_version: end }) => version >= start && (version < end || end === -1),
    )
  const versions = stored.flatMap(({ version }) => (isNamed(version) ? [version] : [])).toReversed()
  const { branches, tags } = context.engine
  const reasons = new Map([[stored[0]?.version, 'is the latest version, which a table cannot lose']])
  for (const { version, branch: taggedBranch } of (await tags.list(location)).values()) {
    if (canonicalizeBranch(taggedBranch) === branch) reasons.set(version, 'has a tag')
  }
  for (const { parentVersion, parentBranch } of (await branches.list(location)).values()) {
    if (canonicalizeBranch(parentBranch) === branch) reasons.set(parentVersion, 'is the base of a branch')
  }
  const refused = versions.find((version) => reasons.has(version))
  if (refused === undefined) return { branch, versions }
  throw invalidInput(`nothing was deleted: version ${refused} ${reasons.get(refused)}`)
}
