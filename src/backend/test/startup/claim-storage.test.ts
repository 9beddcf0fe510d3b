import { randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { backendSettings, usesPostgres } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Creates folders for data and stores, and a function that runs catalogs on any combination. */
async function location() {
  const top = await temporaryFolder()
  const run = (data: string, store: string) => {
    const folder = join(top, store)
    return runningBackend(
      {
        data: { folder: join(top, data) },
        store: usesPostgres() ? backendSettings(folder).store : { folder },
      },
      folder,
    )
  }
  return { top, run }
}

const belongsToAnother =
  /the storage at .* does not belong to the catalog of this store: .*, found \{"catalog":"[0-9a-f-]{36}"\}/
const isNotKnown = /the storage at .* does not belong to the catalog of this store/

it('rejects another store on the same data without changing anything', async () => {
  const { top, run } = await location()
  const first = await run('data', 'one')
  await first.post('/v1/table/t/create', streamOf(orders(2)))
  await mkdir(join(top, 'data', 'commits', randomUUID()))
  const before = await readdir(join(top, 'data'), { recursive: true })
  await expect(run('data', 'other')).rejects.toThrow(belongsToAnother)
  expect(await readdir(join(top, 'data'), { recursive: true })).toEqual(before)
  expect(await first.post('/v1/table/t/count_rows', {})).toEqual(responseOf(2))
})

it('rejects a store with the data of another catalog', async () => {
  const { top, run } = await location()
  await (await run('data', 'one')).stop()
  await expect(run('elsewhere', 'one')).rejects.toThrow(isNotKnown)
  expect(await readdir(join(top, 'elsewhere'))).not.toContain('catalog.json')
  await (await run('elsewhere', 'other')).stop()
  await expect(run('elsewhere', 'one')).rejects.toThrow(belongsToAnother)
  await (await run('data', 'one')).stop()
})

it.each([
  ['is no JSON', '{'],
  ['names no catalog', '{}'],
  ['is no object', 'null'],
])('rejects data whose mark %s', async (_what, text) => {
  const { top, run } = await location()
  await (await run('data', 'one')).stop()
  await writeFile(join(top, 'data', 'catalog.json'), text)
  await expect(run('data', 'one')).rejects.toThrow(isNotKnown)
})

it('accepts data that was moved or copied with its mark', async () => {
  const { top, run } = await location()
  const first = await run('data', 'one')
  await first.post('/v1/table/t/create', streamOf(orders(2)))
  await first.stop()
  await rename(join(top, 'data'), join(top, 'moved'))
  const second = await run('moved', 'one')
  expect(await second.post('/v1/table/t/count_rows', {})).toEqual(responseOf(2))
  await second.stop()
  await cp(join(top, 'moved'), join(top, 'copied'), { recursive: true })
  await (await run('copied', 'one')).stop()
})

it('completes a start that was interrupted between the mark and its record', async () => {
  const { top, run } = await location()
  const first = await run('data', 'one')
  await first.stop()
  const written = await readFile(join(top, 'data', 'catalog.json'), 'utf8')
  for (const hasMark of [true, false]) {
    const store = await first.openDatabase()
    await store.database.updateTable('catalog_identity').set({ state: 'new' }).execute()
    await store.close()
    if (!hasMark) await rm(join(top, 'data', 'catalog.json'))
    await (await run('data', 'one')).stop()
    expect(await readFile(join(top, 'data', 'catalog.json'), 'utf8')).toBe(written)
  }
})

it('lets one of several stores claim the same new data', async () => {
  const { run } = await location()
  const starts = await Promise.allSettled(['one', 'two', 'three'].map((store) => run('data', store)))
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const start of starts) {
    if (start.status === 'rejected') expect(String(start.reason)).toMatch(belongsToAnother)
  }
})

it.runIf(usesPostgres())('starts one of several replicas with different new data', async () => {
  const { top, run } = await location()
  const folders = ['data', 'elsewhere', 'nowhere']
  const starts = await Promise.allSettled(folders.map((data) => run(data, 'one')))
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const marks = await Promise.all(folders.map((data) => readdir(join(top, data))))
  expect(marks.filter((names) => names.includes('catalog.json'))).toHaveLength(1)
})
