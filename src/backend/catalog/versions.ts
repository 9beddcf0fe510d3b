import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  quoteForMessage,
  transactionNotFound,
} from 'catalog-gateway/catalog-api'
import type { ResponseOf } from '../schemas/operation-schemas.ts'
import type { Properties, TableEntry } from '../database/objects.ts'
import { findVersionMetadata } from '../database/versions.ts'
import type { ListedVersion, StoredVersion } from '../engine/manifest/manifest-files.ts'
import {
  branchNotFoundError,
  normalizeBranch,
  mainBranch,
  tableLocation,
  type CatalogContext,
} from './context.ts'
import { requireTable, requirePoint, hasData } from './find-table.ts'
import { reconcileIfPending } from './reconcile.ts'
import type { Operations } from './operations.ts'
import { writeRows } from './table-locks.ts'

export type TableVersion = ResponseOf<'DescribeTableVersion'>['version']

export const versionOperations = {
  /**
   * Oldest first unless `descending`. The token is the last version. Throws TableNotFound or TableBranchNotFound (404).
   */
  async ListTableVersions(context, { id, request }) {
    const branch = normalizeBranch(request.branch)
    const table = await requireTable(context.database, id)
    await reconcileIfPending(context, table)
    const location = tableLocation(context, table)
    const { descending, limit } = request
    const after = parsePageToken(request.page_token)
    // Clients request the newest version before nearly every read and write.
    const newest = descending && after === undefined && limit !== undefined ? limit + 1 : undefined
    const stored = await context.manifestStore.list(location, branch, newest)
    if (stored.length === 0) {
      if (branch !== mainBranch) throw branchNotFoundError(branch)
      return { versions: [] }
    }
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
  },

  /** Describes one version, by default the newest. Throws TableNotFound or TableVersionNotFound (404). */
  async DescribeTableVersion(context, { id, request }) {
    const branch = normalizeBranch(request.branch)
    const table = await requireTable(context.database, id)
    await reconcileIfPending(context, table)
    const stored = await context.manifestStore.describe(
      tableLocation(context, table),
      request.version,
      branch,
    )
    const [version] = await addMetadata(context, table, branch, stored === undefined ? [] : [stored])
    if (version !== undefined) return { version }
    throw new CatalogError(
      'TableVersionNotFound',
      `the table ${formatIdentifierForMessage(id)} has no version${request.version === undefined ? '' : ` ${request.version}`}`,
    )
  },

  /** Adds a new version with the old content. Throws TableNotFound, TableBranchNotFound or TableVersionNotFound (404). */
  async RestoreTable(context, { id, request: { branch, version } }) {
    const { table, point } = await requirePoint(context, id, { branch, version })
    await writeRows(context, table.objectId, () => context.engine.restore({ ...point, version }))
    return {}
  },

  /** The id is that of the table, then the UUID of the transaction or its version. Throws TransactionNotFound (404). */
  async DescribeTransaction(context, { id }) {
    const tableId = id.slice(0, -1)
    const name = id.at(-1)
    if (name === undefined || tableId.length === 0) {
      throw invalidInput('expected the id of a table followed by a transaction: its UUID, or a version')
    }
    const location = await findLocation(context, tableId)
    if (location === undefined) throw transactionNotFound(id)
    const branches = [...(await context.engine.branches.list(location)).keys()]
    const transaction = await context.manifestStore.findTransaction(location, branches, name)
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

/** Where a listing starts, as the version of a page token; `stored` has the newest version first. */
function beforeAll([newest]: readonly ListedVersion[], descending: boolean | undefined): number {
  return descending && newest !== undefined ? newest.version + 1 : 0
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

function parsePageToken(token: string | undefined): number | undefined {
  if (token === undefined || token === '') return undefined
  if (!/^\d{1,15}$/.test(token))
    throw invalidInput(
      `invalid page_token ${quoteForMessage(token)}; expected a token of a previous response`,
    )
  return Number(token)
}

/** A missing table has no transactions: the catalog API defines no other 404 here. */
async function findLocation(context: CatalogContext, id: Identifier): Promise<string | undefined> {
  try {
    const table = await requireTable(context.database, id)
    return (await hasData(context, table)) ? tableLocation(context, table) : undefined
  } catch (error) {
    if (error instanceof CatalogError && error.status === 404) return undefined
    throw error
  }
}
