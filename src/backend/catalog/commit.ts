import { randomUUID } from 'node:crypto'
import {
  assertIdentifier,
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
} from 'catalog-gateway/catalog-api'
import { groupBy } from 'catalog-gateway/lib'
import type { RequestOf, ResponseOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import {
  findVersion,
  recordDeletedVersions,
  recordVersion,
  type VersionRecord,
} from '../database/versions.ts'
import type { StagedManifest } from '../engine/manifest/commits.ts'
import type { NamingScheme, StoredVersion } from '../engine/manifest/manifest-files.ts'
import { mainBranch, normalizeBranch, tableLocation, type CatalogContext } from './context.ts'
import { planDeletion } from './delete-versions.ts'
import { requireSameTable, requireTable } from './find-table.ts'
import type { Operations } from './operations.ts'
import {
  deleteUnusedRetainedManifests,
  publishVersion,
  recordCommitted,
  reconcileVersions,
  retainedManifestPath,
} from './reconcile.ts'
import { deregisterInTransaction } from './register-table.ts'
import { lockTables } from './table-locks.ts'
import { declareInTransaction } from './tables.ts'
import { toTableVersion, type TableVersion } from './versions.ts'

type Operation = Partial<RequestOf<'BatchCommitTables'>['operations'][number]>
type Result = ResponseOf<'BatchCommitTables'>['results'][number]

/** A change with its table; a declaration has no table yet. */
interface Change {
  readonly operation: Operation
  readonly id: Identifier
  readonly table: TableEntry | undefined
}

/** The creation of a version. */
interface NewVersion {
  readonly id: Identifier
  readonly table: TableEntry
  readonly request: RequestOf<'CreateTableVersion'>
  readonly branch: string
}

/** Does what must precede the commit; resolves with what the commit records. */
type CheckedChange = () => Promise<(database: CatalogDatabase) => Promise<Result>>

export const commitOperations = {
  /**
   * Gives the staging manifest of a client its final name if the version is the next one. A replay with the same staging
   * path gets the first success again. Throws ConcurrentModification (409), TableNotFound (404), InvalidInput (400).
   */
  async CreateTableVersion(context, { id, request }) {
    const table = await requireTable(context.database, id)
    const created = { id, table, request, branch: normalizeBranch(request.branch) }
    return await context.commitLock.runExclusive(table.objectId, async () => {
      await reconcileVersions(context, table)
      return { version: (await findReplay(context, created)) ?? (await commitVersion(context, created)) }
    })
  },

  /** Creates versions of several tables, all or none. The responses are in the order of the entries. */
  async BatchCreateTableVersions(context, { request: { entries } }) {
    const results = await commitBatch(
      context,
      entries.map((entry) => ({ create_table_version: entry })),
    )
    return { versions: results.flatMap(({ create_table_version: created }) => created?.version ?? []) }
  },

  /** Applies changes to several tables, all or none; the results are in the order of the changes. */
  async BatchCommitTables(context, { request: { operations } }) {
    return { results: await commitBatch(context, operations) }
  },
} satisfies Operations

/** The caller holds only the commit lock, so a writer of rows may take the final name first. */
async function commitVersion(context: CatalogContext, created: NewVersion): Promise<TableVersion> {
  const { id, table, branch, request } = created
  const operation = { create_table_version: { ...request, id: [...id] } }
  const [result] = await commit(context, [{ operation, id, table }])
  const key = { objectId: table.objectId, branch, version: request.version }
  const record = await findVersion(context.database, key)
  if (record !== undefined && (await publishVersion(context, table, record))) {
    const version = (await describeVersion(context, created)) ?? result?.create_table_version?.version
    if (version !== undefined) return version
  }
  throw new CatalogError(
    'ConcurrentModification',
    `cannot create version ${request.version} of ${formatIdentifierForMessage(id)}: another commit was first`,
  )
}

/**
 * Every change applies to the state before the batch: a batch cannot change a table that it declares or deregisters.
 * Throws the errors of the single changes; nothing is changed then. README.md says how all or none holds when the
 * process ends at any moment.
 */
async function commitBatch(context: CatalogContext, operations: readonly Operation[]): Promise<Result[]> {
  const changes = await locateTables(context, operations)
  const tables = new Map(changes.flatMap(({ table }) => (table ? [[table.objectId, table]] : [])))
  const distinctTables = [...tables.values()]
  return await lockTables(context, distinctTables, async () => {
    const replayed = await findReplayedBatch(context, changes)
    if (replayed !== undefined) return replayed
    let results: Result[]
    try {
      results = await commit(context, changes)
    } finally {
      for (const table of distinctTables) {
        await recordCommitted(context, table, 'final names of a batch', async () => {
          await reconcileVersions(context, table)
          await deleteUnusedRetainedManifests(context, table.objectId)
        })
      }
    }
    return await Promise.all(
      changes.map(async (change, index) => {
        const created = toNewVersion(change)
        const version = created && (await describeVersion(context, created))
        return version ? { create_table_version: { version } } : { ...results[index] }
      }),
    )
  })
}

/** Throws NamespaceNotFound, TableNotFound (404), or InvalidInput (400) for changes that exclude each other. */
async function locateTables(
  context: CatalogContext,
  operations: readonly Operation[],
): Promise<readonly Change[]> {
  const changes: Change[] = []
  for (const operation of operations) {
    const id = assertIdentifier(Object.values(operation).find((member) => member !== undefined)?.id ?? [])
    const table = operation.declare_table ? undefined : await requireTable(context.database, id)
    changes.push({ operation, id, table })
  }
  const seen = new Set<string>()
  for (const { operation, id, table } of changes) {
    const { create_table_version: creation, delete_table_versions: deletion } = operation
    if (table === undefined || creation !== undefined) continue
    const others = changes.filter((change) => change.table?.objectId === table.objectId)
    const key = `${table.objectId}/${normalizeBranch(deletion?.branch)}`
    if (seen.has(key) || (deletion === undefined && others.length > 1)) {
      throw invalidInput(
        `the batch names ${formatIdentifierForMessage(id)} twice; deregister a table in an operation of its own, ` +
          'and put all version ranges of a branch into one operation',
      )
    }
    seen.add(key)
  }
  return changes
}

/** Returns the first success of a replayed batch; undefined unless every change is a version that was committed. */
async function findReplayedBatch(
  context: CatalogContext,
  changes: readonly Change[],
): Promise<Result[] | undefined> {
  const results: Result[] = []
  for (const change of changes) {
    const created = toNewVersion(change)
    const version = created && (await findReplay(context, created))
    if (version === undefined) return undefined
    results.push({ create_table_version: { version } })
  }
  return results
}

/** Returns the first success of a replayed request, recognized by its staging path. */
async function findReplay(
  context: CatalogContext,
  { table, branch, request }: NewVersion,
): Promise<TableVersion | undefined> {
  const { objectId } = table
  const record = await findVersion(context.database, { objectId, branch, version: request.version })
  if (record?.manifestPath !== request.manifest_path) return undefined
  const stored = await context.manifestStore.describe(tableLocation(context, table), request.version, branch)
  return stored && toTableVersion(stored, record.metadata)
}

/** Checks all changes, retains the staging manifests, and records everything in one transaction: the commit point. */
async function commit(context: CatalogContext, changes: readonly Change[]): Promise<Result[]> {
  const staged = await inspectStagedVersions(context, changes)
  const checked: CheckedChange[] = []
  for (const change of changes) checked.push(await checkChange(context, change, staged))
  const prepared: Awaited<ReturnType<CheckedChange>>[] = []
  for (const prepare of checked) prepared.push(await prepare())
  return await context.database.transaction().execute(async (database) => {
    const results: Result[] = []
    for (const record of prepared) results.push(await record(database))
    return results
  })
}

/**
 * Inspects the staging manifests. Those of one branch must follow the newest version and each other, in any order. Throws
 * ConcurrentModification (409) or InvalidInput (400).
 */
async function inspectStagedVersions(
  context: CatalogContext,
  changes: readonly Change[],
): Promise<ReadonlyMap<Operation, StagedManifest>> {
  const staged = new Map<Operation, StagedManifest>()
  const versions = changes.flatMap((change) => {
    const created = toNewVersion(change)
    return created ? [{ ...created, operation: change.operation }] : []
  })
  const ofBranch = groupBy(versions, ({ table, branch }) => `${table.objectId}/${branch}`)
  for (const group of ofBranch.values()) {
    let newest: { readonly version: number; readonly namingScheme: NamingScheme } | undefined
    for (const created of group.toSorted((one, other) => one.request.version - other.request.version)) {
      const { id, table, request, operation } = created
      if (newest === undefined) newest = await findNewestVersion(context, created)
      else if (request.version === newest.version)
        throw invalidInput(
          `duplicate version ${request.version} of ${formatIdentifierForMessage(id)} in the batch`,
        )
      else requireNext(id, request.version, newest.version)
      const found = await context.manifestStore.inspectStaging(tableLocation(context, table), {
        version: request.version,
        branch: request.branch,
        manifestPath: request.manifest_path,
        manifestSize: request.manifest_size,
        eTag: request.e_tag,
        namingScheme: request.naming_scheme,
      })
      if (newest !== undefined && found.namingScheme !== newest.namingScheme) {
        throw invalidInput(
          `expected a manifest name of scheme ${newest.namingScheme}, like the previous ones`,
        )
      }
      newest = found
      staged.set(operation, found)
    }
  }
  return staged
}

/** Finds the version that the created one follows. Throws ConcurrentModification (409) if it follows another one. */
async function findNewestVersion(
  context: CatalogContext,
  { id, table, branch, request: { version } }: NewVersion,
): Promise<StoredVersion | undefined> {
  const latest = await context.manifestStore.describe(tableLocation(context, table), undefined, branch)
  // The number of a branch's first version is one above the version that it branched from.
  if (latest !== undefined || branch === mainBranch) requireNext(id, version, latest?.version ?? 0)
  return latest
}

function requireNext(id: Identifier, version: number, newest: number): void {
  if (version === newest + 1) return
  throw new CatalogError(
    'ConcurrentModification',
    `cannot create version ${version} of ${formatIdentifierForMessage(id)}; the next version is ${newest + 1}`,
  )
}

async function checkChange(
  context: CatalogContext,
  change: Change,
  staged: ReadonlyMap<Operation, StagedManifest>,
): Promise<CheckedChange> {
  const { operation, id, table } = change
  const { declare_table: declaration, delete_table_versions: deletion } = operation
  if (declaration !== undefined) {
    return async () => async (database) => ({
      declare_table: await declareInTransaction(context, database, id, declaration),
    })
  }
  if (table === undefined) throw new TypeError('a change of a batch has no table')
  const { objectId } = table
  if (deletion !== undefined) {
    const { branch, versions } = await planDeletion(context, id, table, deletion)
    return async () => async (database) => {
      await requireSameTable(database, id, objectId)
      await recordDeletedVersions(database, objectId, branch, versions)
      return { delete_table_versions: { deleted_count: versions.length } }
    }
  }
  const created = toNewVersion(change)
  const manifest = staged.get(operation)
  if (created !== undefined && manifest !== undefined)
    return async () => await retainVersion(context, created, manifest)
  return async () => async (database) => ({
    deregister_table: await deregisterInTransaction(context, database, id, objectId),
  })
}

/** Gives the staging manifest a second name, from which only the catalog deletes. */
async function retainVersion(context: CatalogContext, created: NewVersion, staged: StagedManifest) {
  const { id, table, branch, request } = created
  const record: VersionRecord = {
    objectId: table.objectId,
    branch,
    version: staged.version,
    manifestPath: request.manifest_path,
    manifestSize: staged.manifestSize,
    eTag: staged.eTag,
    namingScheme: staged.namingScheme,
    metadata: request.metadata,
    retainedName: randomUUID(),
  }
  const stored = await context.manifestStore.retain(staged, retainedManifestPath(context, record))
  return async (database: CatalogDatabase): Promise<Result> => {
    await requireSameTable(database, id, table.objectId)
    await recordVersion(database, record)
    return { create_table_version: { version: toTableVersion(stored, request.metadata) } }
  }
}

/** Reads a committed manifest again: a copy in an object store has another entity tag and time. */
async function describeVersion(
  context: CatalogContext,
  { table, branch, request }: NewVersion,
): Promise<TableVersion | undefined> {
  try {
    const location = tableLocation(context, table)
    const stored = await context.manifestStore.describe(location, request.version, branch)
    return stored && toTableVersion(stored, request.metadata)
  } catch (error) {
    context.log.warn({ err: error, table: table.objectId }, 'committed version cannot be described')
    return undefined
  }
}

function toNewVersion({ operation, id, table }: Change): NewVersion | undefined {
  const { create_table_version: request } = operation
  return request && table && { id, table, request, branch: normalizeBranch(request.branch) }
}
