import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { chooseLocation, findObject, recordLeftover, removeObject } from '../../database/objects.ts'
import type { CatalogDatabase } from '../../database/schema.ts'
import { recordVersion } from '../../database/versions.ts'
import { usesPostgres } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable, runningBackend } from '../support/running-backend.ts'
import type { StagedVersion } from '../../../../test/conformance/staged-versions.ts'
import { committer } from '../support/staged-manifests.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Records a version as `recorded`; its manifest is retained unless the staging file is gone. */
async function recordOnly(folder: string, database: CatalogDatabase, request: StagedVersion): Promise<void> {
  const { objectId = '' } = (await findObject(database, ['t'])) ?? {}
  await mkdir(join(folder, 'commits', objectId))
  await copyFile(`/${request.manifest_path}`, join(folder, 'commits', objectId, 'x')).catch(() => undefined)
  await recordVersion(database, {
    objectId,
    keptName: 'x',
    branch: 'main',
    version: request.version,
    stagingPath: request.manifest_path,
    manifestSize: request.manifest_size,
    eTag: null,
    namingScheme: 'V2',
    metadata: undefined,
  })
}

it('removes a table with its data if its creation was interrupted', async () => {
  const { post, changeDatabase, dataFolder } = await backendWithTable()
  let folder = ''
  await changeDatabase(async (database) => {
    const table = chooseLocation()
    await recordLeftover(database, table)
    folder = join(dataFolder, table.location)
    await mkdir(join(folder, 'data'), { recursive: true })
    await writeFile(join(folder, 'data', 'x.lance'), 'x')
  })
  await eventually(() => !existsSync(folder))
  expect(await post('/v1/table/half/exists', {})).toEqual(errorOf('TableNotFound'))
  expect((await post('/v1/table/half/create', streamOf(orders(1)))).status).toBe(200)
})

it('deletes the leftover data of a dropped table, also if another one cannot be deleted', async () => {
  const { changeDatabase, location } = await backendWithTable()
  // No file system has a name of this length, so all of them refuse to delete it.
  const undeletable = { location: `tables/${'x'.repeat(300)}.lance`, objectId: 'x' }
  await changeDatabase(async (database) => {
    await database.insertInto('leftovers').values(undeletable).execute()
    await removeObject(database, 't')
  })
  await eventually(() => !existsSync(location))
  await changeDatabase(async (database) =>
    expect(await database.selectFrom('leftovers').selectAll().execute()).toEqual([undeletable]),
  )
})

it('does not delete unknown folders', async () => {
  const { changeDatabase, dataFolder } = await backendWithTable()
  const folder = join(dataFolder, 'tables', `${'0'.repeat(32)}.lance`)
  await changeDatabase(() => mkdir(folder))
  expect(existsSync(folder)).toBe(true)
})

it('publishes a recorded version with a staged manifest', async () => {
  const { changeDatabase, location, post, dataFolder } = await backendWithTable()
  const request = await (await committer(location)).stage()
  await changeDatabase((database) => recordOnly(dataFolder, database, request))
  expect(await post('/v1/table/t/version/describe', {})).toEqual(
    responseOf({ version: expect.objectContaining({ version: 2 }) }),
  )
  expect((await post('/v1/table/t/version/create', request)).status).toBe(200)
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(4))
})

it('deletes the record of a version without a manifest', async () => {
  const { changeDatabase, location, post, dataFolder } = await backendWithTable()
  const client = await committer(location)
  const request = await client.stage()
  await rm(`/${request.manifest_path}`)
  await changeDatabase((database) => recordOnly(dataFolder, database, request))
  expect(await post('/v1/table/t/version/describe', { version: 2 })).toEqual(errorOf('TableVersionNotFound'))
  const other = await (await committer(location)).stage()
  expect(other.version).toBe(2)
  expect((await post('/v1/table/t/version/create', other)).status).toBe(200)
})

it('does not publish a recorded version that lost to another commit', async () => {
  const { changeDatabase, location, post, dataFolder } = await backendWithTable()
  const request = await (await committer(location)).stage()
  await post('/v1/table/t/insert', streamOf(orders(7)))
  await changeDatabase((database) => recordOnly(dataFolder, database, request))
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(10))
  expect(await post('/v1/table/t/version/create', request)).toEqual(errorOf('ConcurrentModification'))
})

it('recognizes a version that got its final name just before the crash', async () => {
  const { changeDatabase, location, post, dataFolder } = await backendWithTable()
  const request = await (await committer(location)).stage()
  const staging = `/${request.manifest_path}`
  await copyFile(staging, staging.replace(/-[0-9a-f]{8}-[^/]*$/, ''))
  await changeDatabase((database) => recordOnly(dataFolder, database, request))
  expect((await post('/v1/table/t/version/create', request)).status).toBe(200)
  expect(await readdir(join(location, '_versions'))).not.toContain(basename(staging))
})

it.skipIf(usesPostgres())('two processes cannot use one data folder', async () => {
  const folder = await temporaryFolder()
  await runningBackend({}, folder)
  await expect(runningBackend({}, folder)).rejects.toThrow(/another process/)
})
