import { InterfaceError } from '../../interface/errors.ts'
import { setTableState, type TableEntry } from '../store/objects.ts'
import {
  finishVersion,
  forgetVersion,
  forgetVersionsBefore,
  listRecordedVersions,
  type VersionRecord,
} from '../store/versions.ts'
import { forgetDoomedVersion, isUnfinished, listDoomedVersions } from '../store/unfinished.ts'
import { mainBranch } from './branches.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { dropUnusedKept, keptPathOf } from './kept-manifests.ts'

/** How many commits of a branch can be replayed: a client that lost an answer asks again at once. */
const replayableVersions = 100

/**
 * Makes the storage of a table agree with what is on record. A version that a client was committing by itself when
 * the process ended gets its final name, or is forgotten where its manifest is gone. What a batch has committed is
 * finished: see commit-batch.ts for why that cannot fail. The caller holds the lock of the commits.
 */
export async function settleVersions(catalog: CatalogParts, table: TableEntry): Promise<void> {
  const recorded = await listRecordedVersions(catalog.database, table.objectId)
  // The newest first: whoever opens the table in between sees the newest version, which holds what those before do.
  for (const record of recorded.toSorted((one, other) => other.version - one.version)) {
    await settle(catalog, table, record)
  }
  await removeDoomed(catalog, table)
  if (recorded.some(({ keptName }) => keptName !== undefined)) await dropUnusedKept(catalog, table.objectId)
}

/** Settles a table, if there is need to, before its data is read or changed. */
export async function settleIfUnfinished(catalog: CatalogParts, table: TableEntry): Promise<void> {
  if (!(await isUnfinished(catalog.database, table.objectId))) return
  await catalog.commitLock.run(table.objectId, () => settleVersions(catalog, table))
}

/** Records that a version has its final name, and so that the table has data. */
export async function finish(
  catalog: CatalogParts,
  table: TableEntry,
  branch: string,
  version: number,
): Promise<void> {
  await catalog.database.transaction().execute(async (database) => {
    await finishVersion(database, table.objectId, branch, version)
    await forgetVersionsBefore(database, table.objectId, branch, version - replayableVersions)
    if (table.state === 'declared' && branch === mainBranch)
      await setTableState(database, table.objectId, 'ready')
  })
}

/** Whether storage has said no for good; anything else may be well the next time. */
export function isRefusal(error: unknown): boolean {
  return error instanceof InterfaceError && error.status < 500
}

async function settle(catalog: CatalogParts, table: TableEntry, record: VersionRecord): Promise<void> {
  const isThere = await (record.keptName === undefined
    ? isPublished(catalog, table, record)
    : publishKept(catalog, table, { ...record, keptName: record.keptName }))
  if (isThere) await finish(catalog, table, record.branch, record.version)
  else await forgetVersion(catalog.database, table.objectId, record.branch, record.version)
}

/** False only where storage was changed around the catalog: what was put there is never overwritten. */
async function publishKept(
  catalog: CatalogParts,
  table: TableEntry,
  record: VersionRecord & { keptName: string },
): Promise<boolean> {
  try {
    const kept = { ...record, keptPath: keptPathOf(catalog, table, record.keptName) }
    await catalog.manifests.publishKept(locationOf(catalog, table), kept)
    return true
  } catch (error) {
    if (!(error instanceof InterfaceError && error.kind === 'ConcurrentModification')) throw error
    catalog.log.error({ err: error, table: table.objectId }, 'committed version lost')
    return false
  }
}

async function removeDoomed(catalog: CatalogParts, table: TableEntry): Promise<void> {
  for (const doomed of await listDoomedVersions(catalog.database, table.objectId)) {
    await catalog.manifests.remove(locationOf(catalog, table), doomed.version, doomed.branch)
    await catalog.database.transaction().execute(async (database) => {
      await forgetVersion(database, table.objectId, doomed.branch, doomed.version)
      await forgetDoomedVersion(database, table.objectId, doomed)
    })
  }
}

async function isPublished(
  catalog: CatalogParts,
  table: TableEntry,
  record: VersionRecord,
): Promise<boolean> {
  const location = locationOf(catalog, table)
  try {
    await catalog.manifests.publish(await catalog.manifests.inspectStaging(location, record))
    return true
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  // The staging manifest is gone, or another commit was faster: what has the final name tells which.
  const stored = await catalog.manifests.describe(location, record.version, record.branch)
  return stored !== undefined && stored.manifestSize === record.manifestSize && stored.eTag === record.eTag
}
