import { randomUUID } from 'node:crypto'
import {
  assertIdentifier,
  canonicalizeBranch,
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
} from 'catalog-gateway/catalog-api'
import { groupBy } from 'catalog-gateway/lib'
import type { RequestOf, ResponseOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { findVersion, recordDeletedVersions, recordVersion } from '../database/versions.ts'
import { inspectStaging, retainManifest, type StagedManifest } from '../engine/manifest/commits.ts'
import { findManifest } from '../engine/manifest/manifest-files.ts'
import { mainBranch, tableLocation, type CatalogContext } from './context.ts'
import { requireSameTable, requireTable } from './find-table.ts'
import { changeReferences, lockTables } from './table-locks.ts'
import type { Operations } from './operations.ts'
import {
  deleteUnusedRetainedManifests,
  publishVersion,
  recordCommitted,
  reconcileVersions,
  retainedManifestsFolder,
} from './reconcile.ts'
import { deregisterInTransaction } from './register-table.ts'
import { declareInTransaction } from './tables.ts'
import { planDeletion, toTableVersion, type TableVersion } from './versions.ts'

type Operation = Partial<RequestOf<'BatchCommitTables'>['operations'][number]>
type Result = ResponseOf<'BatchCommitTables'>['results'][number]

/** The creation of a version. */
interface NewVersion {
  readonly table: TableEntry
  readonly request: RequestOf<'CreateTableVersion'>
  readonly branch: string
}

/** A change of a table; a declaration has no table yet. */
interface Change {
  readonly operation: Operation
  readonly id: Identifier
  readonly table?: TableEntry
  readonly created?: NewVersion | undefined
}

export const commitOperations = {
  /**
   * Gives the staging manifest of a client its final name if the version is the next one. A replay with the same staging
   * path gets the first success again. Throws ConcurrentModification (409), TableNotFound (404), InvalidInput (400).
   */
  async CreateTableVersion(context, { id, request }) {
    const table = await requireTable(context.database, id)
    const created = { table, request, branch: canonicalizeBranch(request.branch) }
    return await context.commitLock.runExclusive(table.objectId, async () => ({
      version: (await findReplay(context, created)) ?? (await commitVersion(context, created)),
    }))
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

  /**
   * Deletes the manifests of versions in half-open ranges; shared rows stay. All are deleted or none: if the process ends
   * after the commit, the next access to the table removes the manifests. Throws like `planDeletion`.
   */
  async BatchDeleteTableVersions(context, { id, request }) {
    return await changeReferences(context, id, async (table) => {
      const operation = { delete_table_versions: { ...request, id: [...id] } }
      const [result] = await commit(context, [{ operation, id, table }])
      await reconcileVersions(context, table.objectId)
      return { ...result?.delete_table_versions }
    })
  },
} satisfies Operations

/** The caller holds only the commit lock, so a writer of rows may take the final name first. */
async function commitVersion(context: CatalogContext, created: NewVersion): Promise<TableVersion> {
  const { table, branch, request } = created
  await commit(context, [{ operation: {}, id: table.id, table, created }])
  const key = { objectId: table.objectId, branch, version: request.version }
  const record = await findVersion(context.database, key)
  const isFirst = record !== undefined && (await publishVersion(context, table, record))
  const version = isFirst ? await findReplay(context, created) : undefined
  if (version !== undefined) return version
  throw new CatalogError(
    'ConcurrentModification',
    `cannot create version ${request.version} of ${formatIdentifierForMessage(table.id)}: another commit was first`,
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
  return await lockTables(context, [...tables.values()], async () => {
    const replayed = await findReplayedBatch(context, changes)
    if (replayed !== undefined) return replayed
    let results: Result[]
    try {
      results = await commit(context, changes)
    } finally {
      for (const [objectId, table] of tables) {
        await recordCommitted(context, table, 'final names of a batch', async () => {
          await reconcileVersions(context, objectId)
          await deleteUnusedRetainedManifests(context, objectId)
        })
      }
    }
    // A copy in an object store has another entity tag and time than what was staged.
    return await Promise.all(
      changes.map(async ({ created }, index) => {
        const version =
          created &&
          (await recordCommitted(context, created.table, 'description of a version', () =>
            findReplay(context, created),
          ))
        return version ? { create_table_version: { version } } : { ...results[index] }
      }),
    )
  })
}

/** Throws NamespaceNotFound, TableNotFound (404), or InvalidInput (400) for changes that exclude each other. */
async function locateTables(context: CatalogContext, operations: readonly Operation[]) {
  const changes: Change[] = []
  for (const operation of operations) {
    const id = assertIdentifier(Object.values(operation).find((member) => member !== undefined)?.id ?? [])
    if (operation.declare_table === undefined) {
      const table = await requireTable(context.database, id)
      const request = operation.create_table_version
      const created = request && { table, request, branch: canonicalizeBranch(request.branch) }
      changes.push({ operation, id, table, created })
    } else changes.push({ operation, id })
  }
  for (const ofTable of groupBy(changes, ({ table }) => table?.objectId ?? '').values()) {
    const [first] = ofTable
    const targets = new Set(ofTable.map(describeTarget))
    const isDistinct = targets.size === ofTable.length && (targets.size === 1 || !targets.has('table'))
    if (first?.table === undefined || isDistinct) continue
    throw invalidInput(
      `the batch names ${formatIdentifierForMessage(first.id)} twice; create each version once, deregister a table in an ` +
        'operation of its own, and put all version ranges of a branch into one operation',
    )
  }
  return changes
}

/** What a batch changes only once in a table: a version, the versions of a branch, or the whole table. */
function describeTarget({ operation: { delete_table_versions: deletion }, created }: Change): string {
  if (created !== undefined) return `version ${created.request.version} of ${created.branch}`
  return deletion === undefined ? 'table' : `versions of ${canonicalizeBranch(deletion.branch)}`
}

/** Returns the first success of a replayed batch; undefined unless every change is a version that was committed. */
async function findReplayedBatch(context: CatalogContext, changes: readonly Change[]) {
  const results: Result[] = []
  for (const { created } of changes) {
    const version = created && (await findReplay(context, created))
    if (version === undefined) return undefined
    results.push({ create_table_version: { version } })
  }
  return results
}

/** Returns the first success of a replayed request, recognized by its staging path. */
async function findReplay(context: CatalogContext, { table, branch, request }: NewVersion) {
  const { objectId } = table
  const record = await findVersion(context.database, { objectId, branch, version: request.version })
  if (record?.stagingPath !== request.manifest_path) return undefined
  const point = { location: tableLocation(context, table), version: request.version, branch }
  const stored = await findManifest(context.storage, point)
  return stored && toTableVersion(stored, record.metadata)
}

/** Checks all changes, retains the staging manifests, and records everything in one transaction: the commit point. */
async function commit(context: CatalogContext, changes: readonly Change[]): Promise<Result[]> {
  const staged = await inspectStagedVersions(context, changes)
  const prepared: Awaited<ReturnType<typeof prepare>>[] = []
  for (const change of changes) prepared.push(await prepare(context, change, staged))
  return await context.transact(async (database) => {
    const results: Result[] = []
    for (const record of prepared) results.push(await record(database))
    return results
  })
}

/**
 * Inspects the staging manifests. Those of one branch must follow the newest version and each other, in any order. Throws
 * ConcurrentModification (409) or InvalidInput (400).
 */
async function inspectStagedVersions(context: CatalogContext, changes: readonly Change[]) {
  const staged = new Map<NewVersion, StagedManifest>()
  const versions = changes.flatMap(({ created }) => created ?? [])
  const ofBranch = groupBy(versions, ({ table, branch }) => `${table.objectId}/${branch}`)
  for (const group of ofBranch.values()) {
    let newest: Pick<StagedManifest, 'version' | 'namingScheme'> | undefined
    for (const created of group.toSorted((one, other) => one.request.version - other.request.version)) {
      const { table, branch, request } = created
      const location = tableLocation(context, table)
      newest ??= await findManifest(context.storage, { location, branch })
      // The number of a branch's first version is one above the version that it branched from.
      const expected = newest !== undefined || branch === mainBranch ? (newest?.version ?? 0) + 1 : undefined
      if (expected !== undefined && request.version !== expected) {
        throw new CatalogError(
          'ConcurrentModification',
          `cannot create version ${request.version} of ${formatIdentifierForMessage(table.id)}; the next version is ${expected}`,
        )
      }
      const found = await inspectStaging(context.storage, location, request)
      if (newest !== undefined && found.namingScheme !== newest.namingScheme) {
        throw invalidInput(
          `expected a manifest name of scheme ${newest.namingScheme}, like the previous ones`,
        )
      }
      newest = found
      staged.set(created, found)
    }
  }
  return staged
}

/** Does what must precede the commit of a checked change. Returns a function that records the change. */
async function prepare(
  context: CatalogContext,
  { operation, id, table, created }: Change,
  staged: ReadonlyMap<NewVersion, StagedManifest>,
): Promise<(database: CatalogDatabase) => Promise<Result>> {
  const { declare_table: declaration, delete_table_versions: deletion } = operation
  if (declaration !== undefined) {
    return async (database) => ({
      declare_table: await declareInTransaction(context, database, id, declaration),
    })
  }
  if (table === undefined) throw new TypeError('a change of a batch has no table')
  const { objectId } = table
  if (deletion !== undefined) {
    const { branch, versions } = await planDeletion(context, table, deletion)
    return async (database) => {
      await requireSameTable(database, table)
      await recordDeletedVersions(database, objectId, branch, versions)
      return { delete_table_versions: { deleted_count: versions.length } }
    }
  }
  const manifest = created && staged.get(created)
  if (created !== undefined && manifest !== undefined) return await retainVersion(context, created, manifest)
  return async (database) => ({
    deregister_table: await deregisterInTransaction(context, database, table),
  })
}

/** Gives the staging manifest a second name, from which only the catalog deletes. */
async function retainVersion(
  context: CatalogContext,
  { table, branch, request }: NewVersion,
  staged: StagedManifest,
) {
  const { objectId } = table
  const { version, manifestSize, eTag, namingScheme } = staged
  const { manifest_path: stagingPath, metadata } = request
  const keptName = randomUUID()
  const retainedPath = `${retainedManifestsFolder(context, objectId)}/${keptName}`
  const stored = await retainManifest(context.storage, staged, retainedPath)
  const record = { objectId, branch, version, stagingPath, manifestSize, eTag, namingScheme, keptName }
  return async (database: CatalogDatabase): Promise<Result> => {
    await requireSameTable(database, table)
    await recordVersion(database, { ...record, metadata })
    return { create_table_version: { version: toTableVersion(stored, metadata) } }
  }
}
