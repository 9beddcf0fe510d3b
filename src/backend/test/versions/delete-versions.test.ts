import { symlink, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'

async function withVersions(versions: number) {
  const backend = await backendWithTable(orders(1))
  for (let version = 2; version <= versions; version += 1) {
    await backend.post('/v1/table/t/insert', streamOf(orders(1, version)))
  }
  const erase = (ranges: readonly (readonly [number, number])[], more: object = {}) =>
    backend.post('/v1/table/t/version/delete', {
      ranges: ranges.map(([start_version, end_version]) => ({ start_version, end_version })),
      ...more,
    })
  const versionsOf = (query?: string) => backend.versionsOf('t', query)
  return { ...backend, erase, versionsOf }
}

it('treats ranges as half-open', async () => {
  const { erase, versionsOf, post } = await withVersions(8)
  expect(await erase([[2, 4]])).toEqual(responseOf({ deleted_count: 2 }))
  expect(await versionsOf()).toEqual([1, 4, 5, 6, 7, 8])
  const overlapping = [
    [0, 2],
    [1, 2],
    [5, 6],
    [3, 3],
    [100, 200],
  ] as const
  expect(await erase(overlapping)).toEqual(responseOf({ deleted_count: 2 }))
  expect(await versionsOf()).toEqual([4, 6, 7, 8])
  expect(await erase([])).toEqual(responseOf({ deleted_count: 0 }))
  expect(await post('/v1/table/t/version/describe', { version: 5 })).toEqual(errorOf('TableVersionNotFound'))
  expect(await post('/v1/table/t/count_rows', { version: 5 })).toEqual(errorOf('TableVersionNotFound'))
  expect((await post('/v1/table/t/count_rows', {})).json).toBe(8)
  expect((await post('/v1/table/t/count_rows', { version: 4 })).json).toBe(4)
})

it('the end -1 includes the newest version, which a table cannot lose', async () => {
  const { erase, versionsOf, post } = await withVersions(5)
  for (const start of [0, 3, 5]) {
    const response = await erase([
      [0, 2],
      [start, -1],
    ])
    expect(response).toEqual(errorOf('InvalidInput'))
    expect(response.json).toMatchObject({ error: expect.stringContaining('version 5 is the latest version') })
  }
  expect(await versionsOf()).toEqual([1, 2, 3, 4, 5])
  expect(await erase([[6, -1]])).toEqual(responseOf({ deleted_count: 0 }))
  expect(await erase([[7, -1]])).toEqual(responseOf({ deleted_count: 0 }))
  expect(await erase([[0, 5]])).toEqual(responseOf({ deleted_count: 4 }))
  expect((await post('/v1/table/t/insert', streamOf(orders(1)))).json).toMatchObject({ version: 6 })
  expect(await versionsOf()).toEqual([5, 6])
})

it('deletes nothing if a requested version is protected', async () => {
  const { erase, versionsOf, post } = await withVersions(6)
  await post('/v1/table/t/tags/create', { tag: 'a', version: 2 })
  await post('/v1/table/t/branches/create', { name: 'dev', from_version: 4 })
  const refusal = async (ranges: readonly [number, number][]) => {
    const response = await erase(ranges)
    expect(response).toEqual(errorOf('InvalidInput'))
    return (response.json as { error: string }).error
  }
  expect(await refusal([[1, 4]])).toContain('version 2 has a tag')
  expect(await refusal([[3, 5]])).toContain('version 4 is the base of a branch')
  expect(await refusal([[5, 7]])).toContain('version 6 is the latest version')
  expect(await refusal([[0, -1]])).toContain('nothing was deleted')
  expect(await versionsOf()).toEqual([1, 2, 3, 4, 5, 6])
  await post('/v1/table/t/tags/update', { tag: 'a', version: 6 })
  expect(await erase([[0, 4]])).toEqual(responseOf({ deleted_count: 3 }))
})

it('keeps the versions of a branch separate', async () => {
  const { erase, versionsOf, post } = await withVersions(2)
  await post('/v1/table/t/branches/create', { name: 'dev' })
  for (let row = 0; row < 3; row += 1) await post('/v1/table/t/insert?branch=dev', streamOf(orders(1)))
  await post('/v1/table/t/tags/create', { tag: 'a', version: 4, branch: 'dev' })
  expect(await versionsOf('branch=dev')).toEqual([2, 3, 4, 5])
  expect(await erase([[4, 5]], { branch: 'dev' })).toEqual(errorOf('InvalidInput'))
  expect(await erase([[2, 4]], { branch: 'dev' })).toEqual(responseOf({ deleted_count: 2 }))
  expect([await versionsOf('branch=dev'), await versionsOf()]).toEqual([
    [4, 5],
    [1, 2],
  ])
})

it('rejects ranges without a beginning or an end', async () => {
  const { erase } = await withVersions(2)
  for (const range of [
    [2, 1],
    [-1, 1],
    [0, -2],
  ] as const)
    expect(await erase([range])).toEqual(errorOf('InvalidInput'))
})

it('does not delete manifests behind a symbolic link', async () => {
  const { erase, post, createTable, location } = await withVersions(3)
  const other = await createTable('other', orders(1))
  for (let row = 0; row < 3; row += 1) await post('/v1/table/other/insert', streamOf(orders(1)))
  await rename(join(location, '_versions'), join(location, 'aside'))
  await symlink(join(other, '_versions'), join(location, '_versions'))
  expect(await erase([[1, 3]])).toEqual(errorOf('InvalidInput'))
  expect((await post('/v1/table/other/count_rows', { version: 1 })).json).toBe(1)
})

it('concurrent restores succeed', async () => {
  const { post } = await withVersions(3)
  const restores = Array.from({ length: 4 }, () => post('/v1/table/t/restore', { version: 2 }))
  expect((await Promise.all(restores)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect((await post('/v1/table/t/count_rows', {})).json).toBe(2)
})
