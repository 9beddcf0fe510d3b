import { InterfaceError } from '../../interface/errors.ts'
import { setTableState, type Properties, type TableEntry } from '../store/objects.ts'
import {
  finishVersion,
  forgetVersion,
  forgetVersionsBefore,
  listNotableVersions,
  type VersionRecord,
} from '../store/versions.ts'
import { mainBranch } from './branches.ts'
import { locationOf, type Catalog } from './catalog.ts'

/** How many commits of a branch can be replayed: a client that lost an answer asks again at once. */
const replayableVersions = 100

/**
 * Makes the records of a table agree with its storage: a version that was recorded when the process ended gets
 * its final name, or is forgotten where its manifest is gone. The caller holds the lock of the commits.
 */
export async function settleVersions(catalog: Catalog, table: TableEntry): Promise<void> {
  for (const record of await listNotableVersions(catalog.database, table.objectId)) {
    if (record.state === 'recorded') await settle(catalog, table, record)
  }
}

/** The metadata of the versions of a branch that have any, after what was left unfinished is settled. */
export async function readVersionMetadata(
  catalog: Catalog,
  table: TableEntry,
  branch: string,
): Promise<ReadonlyMap<number, Properties>> {
  let records = await listNotableVersions(catalog.database, table.objectId)
  if (records.some((record) => record.state === 'recorded')) {
    await catalog.commitLock.run(table.objectId, () => settleVersions(catalog, table))
    records = await listNotableVersions(catalog.database, table.objectId)
  }
  return new Map(
    records.flatMap((record) =>
      record.branch === branch && record.metadata !== undefined ? [[record.version, record.metadata]] : [],
    ),
  )
}

/** Records that a version has its final name, and so that the table has data. */
export async function finish(
  catalog: Catalog,
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

async function settle(catalog: Catalog, table: TableEntry, record: VersionRecord): Promise<void> {
  if (await isPublished(catalog, table, record)) await finish(catalog, table, record.branch, record.version)
  else await forgetVersion(catalog.database, table.objectId, record.branch, record.version)
}

async function isPublished(catalog: Catalog, table: TableEntry, record: VersionRecord): Promise<boolean> {
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
