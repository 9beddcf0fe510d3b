import {
  assertIdentifier,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
} from 'catalog-gateway/catalog-api'
import { type RequestOf, type ResponseOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import { recordDeletedVersions } from '../database/removals.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import {
  describePublishedVersion,
  findReplayedVersions,
  inspectStagedVersions,
  retainVersion,
  type BatchedVersion,
} from './batch-versions.ts'
import { normalizeBranch, type CatalogContext } from './context.ts'
import { planDeletion } from './delete-versions.ts'
import { requireSameTable, requireTable } from './find-table.ts'
import { deleteUnusedRetainedManifests, recordCommitted, reconcileVersions } from './reconcile.ts'
import { deregisterInTransaction } from './register-table.ts'
import { lockTables } from './table-locks.ts'
import type { Operations } from './operations.ts'
import { declareInTransaction } from './tables.ts'

type Operation = Partial<RequestOf<'BatchCommitTables'>['operations'][number]>
type Result = ResponseOf<'BatchCommitTables'>['results'][number]

/** A change of a batch with its table; a declaration has no table yet. */
interface BatchChange {
  readonly operation: Operation
  readonly id: Identifier
  readonly table: TableEntry | undefined
}

type PreparedChange = (database: CatalogDatabase) => Promise<Result>

export const batchOperations = {
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
    return (
      (await findReplayedBatch(context, changes)) ??
      (await withPublishedVersions(context, changes, await commit(context, changes, distinctTables)))
    )
  })
}

/** Throws NamespaceNotFound, TableNotFound (404), or InvalidInput (400) for changes that exclude each other. */
async function locateTables(
  context: CatalogContext,
  operations: readonly Operation[],
): Promise<readonly BatchChange[]> {
  const changes: BatchChange[] = []
  const seen = new Set<string>()
  for (const operation of operations) {
    const id = assertIdentifier(getOperationId(operation))
    const table = operation.declare_table ? undefined : await requireTable(context.database, id)
    changes.push({ operation, id, table })
  }
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

async function findReplayedBatch(
  context: CatalogContext,
  changes: readonly BatchChange[],
): Promise<Result[] | undefined> {
  const versions = changes.map(toBatchedVersion)
  if (!versions.every((version) => version !== undefined)) return undefined
  const replayed = await findReplayedVersions(context, versions)
  return replayed?.map((version) => ({ create_table_version: { version } }))
}

async function commit(
  context: CatalogContext,
  changes: readonly BatchChange[],
  tables: readonly TableEntry[],
): Promise<Result[]> {
  try {
    const prepared = await prepareChanges(context, changes)
    return await context.database.transaction().execute(async (database) => {
      const results: Result[] = []
      for (const record of prepared) results.push(await record(database))
      return results
    })
  } finally {
    await reconcileTables(context, tables)
  }
}

/** Validates all changes before any manifest is retained. */
async function prepareChanges(
  context: CatalogContext,
  changes: readonly BatchChange[],
): Promise<readonly PreparedChange[]> {
  const versions = changes.map(toBatchedVersion)
  const staged = await inspectStagedVersions(
    context,
    versions.filter((version) => version !== undefined),
  )
  const prepared = new Map<BatchChange, PreparedChange>()
  for (const change of changes) {
    const preparedChange = await prepareChange(context, change)
    if (preparedChange !== undefined) prepared.set(change, preparedChange)
  }
  for (const [index, change] of changes.entries()) {
    const version = versions[index]
    const manifest = version && staged.get(version)
    if (version === undefined || manifest === undefined) continue
    const record = await retainVersion(context, version, manifest)
    prepared.set(change, async (database) => ({ create_table_version: { version: await record(database) } }))
  }
  return changes.flatMap((change) => prepared.get(change) ?? [])
}

async function prepareChange(
  context: CatalogContext,
  { operation, id, table }: BatchChange,
): Promise<PreparedChange | undefined> {
  const { declare_table: declaration, delete_table_versions: deletion } = operation
  if (declaration !== undefined) {
    return async (database) => ({
      declare_table: await declareInTransaction(context, database, id, declaration),
    })
  }
  if (table === undefined) return undefined
  const { objectId } = table
  if (deletion !== undefined) {
    const { branch, versions } = await planDeletion(context, id, table, deletion)
    return async (database) => {
      await requireSameTable(database, id, objectId)
      await recordDeletedVersions(database, objectId, branch, versions)
      return { delete_table_versions: { deleted_count: versions.length } }
    }
  }
  if (operation.deregister_table === undefined) return undefined
  return async (database) => ({
    deregister_table: await deregisterInTransaction(context, database, id, objectId),
  })
}

async function reconcileTables(context: CatalogContext, tables: readonly TableEntry[]): Promise<void> {
  for (const table of tables) {
    await recordCommitted(context, table, 'final names of a batch', async () => {
      await reconcileVersions(context, table)
      await deleteUnusedRetainedManifests(context, table.objectId)
    })
  }
}

/** Reads the manifests again: a copy in an object store has another entity tag and time. */
async function withPublishedVersions(
  context: CatalogContext,
  changes: readonly BatchChange[],
  results: readonly Result[],
): Promise<Result[]> {
  return await Promise.all(
    changes.map(async (change, index) => {
      const version = toBatchedVersion(change)
      const published = version && (await describePublishedVersion(context, version))
      return published === undefined
        ? { ...results[index] }
        : { create_table_version: { version: published } }
    }),
  )
}

function toBatchedVersion({ operation, id, table }: BatchChange): BatchedVersion | undefined {
  const { create_table_version: request } = operation
  return request && table && { id, table, request }
}

function getOperationId(operation: Operation): Identifier {
  const member =
    operation.declare_table ??
    operation.create_table_version ??
    operation.delete_table_versions ??
    operation.deregister_table
  return member?.id ?? []
}
