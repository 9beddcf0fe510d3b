import { copyFile, mkdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import { errorCodes } from '../../../catalog-api/catalog-error.ts'
import { orders, schemaOnly, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'

/** Creates a table with versions 1 and 2, of 2 and 3 rows. */
async function withVersions() {
  const backend = await backendWithTable(orders(2))
  await backend.post('/v1/table/t/insert', streamOf(orders(1, 2)))
  const branch = (action: string, body?: unknown) => backend.post(`/v1/table/t/branches/${action}`, body)
  const count = async (body: object = {}) => (await backend.post('/v1/table/t/count_rows', body)).json
  return { ...backend, branch, count }
}

it('a branch is made, listed and deleted', async () => {
  const { branch, get } = await withVersions()
  const before = Math.floor(Date.now() / 1000)
  expect(await branch('create', { name: 'dev' })).toEqual(responseOf({}))
  expect(await branch('create', { name: 'team/x', from_branch: 'dev' })).toEqual(responseOf({}))
  expect(await branch('create', { name: 'old', from_branch: 'main', from_version: 1 })).toEqual(
    responseOf({}),
  )
  const { json } = await branch('list')
  const facts = { createAt: expect.any(Number), manifestSize: expect.any(Number), metadata: {} }
  expect(json).toEqual({
    branches: {
      dev: { ...facts, parentVersion: 2 },
      old: { ...facts, parentVersion: 1 },
      'team/x': { ...facts, parentVersion: 2, parentBranch: 'dev' },
    },
  })
  const { createAt } = (json as { branches: { dev: { createAt: number } } }).branches.dev
  expect(createAt).toBeGreaterThanOrEqual(before)
  expect(createAt).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
  expect((await get('/v1/table/t/branches/list?limit=2')).json).toMatchObject({ page_token: 'old' })
  expect(
    Object.keys(
      ((await get('/v1/table/t/branches/list?page_token=old')).json as { branches: object }).branches,
    ),
  ).toEqual(['team/x'])
  expect(await branch('delete', { name: 'team/x' })).toEqual(responseOf({}))
  expect(await branch('delete', { name: 'team/x' })).toEqual(errorOf('TableBranchNotFound'))
})

it('keeps rows, versions and indexes of a branch separate', async () => {
  const { branch, post, count } = await withVersions()
  await branch('create', { name: 'dev', from_version: 1 })
  expect(await count({ branch: 'dev' })).toBe(2)
  expect((await post('/v1/table/t/insert?branch=dev', streamOf(orders(5, 10)))).json).toEqual({
    version: 2,
    num_inserted_rows: 5,
  })
  expect([await count({ branch: 'dev' }), await count(), await count({ branch: 'main' })]).toEqual([7, 3, 3])
  expect(await count({ branch: 'dev', version: 1 })).toBe(2)
  expect(await count({ branch: 'dev', predicate: 'id >= 10' })).toBe(5)
  const query = await post('/v1/table/t/query', { k: 100, branch: 'dev', vector: [], filter: 'id >= 10' })
  expect(tableFromIPC(query.bytes()).numRows).toBe(5)
  const describe = (body: object) => post('/v1/table/t/describe', { load_detailed_metadata: true, ...body })
  expect((await describe({ branch: 'dev' })).json).toMatchObject({ version: 2, stats: { num_fragments: 2 } })
  expect((await describe({ branch: 'dev', version: 1 })).json).toMatchObject({ stats: { num_fragments: 1 } })
  await post('/v1/table/t/create_index', { branch: 'dev', column: 'id', index_type: 'BTREE' })
  const indexes = async (body: object) =>
    ((await post('/v1/table/t/index/list', body)).json as { indexes: unknown[] }).indexes.length
  expect([await indexes({ branch: 'dev' }), await indexes({})]).toEqual([1, 0])
  expect((await post('/v1/table/t/index/id_idx/drop?branch=dev')).status).toBe(200)
  expect((await post('/v1/table/t/insert?branch=dev&mode=overwrite', streamOf(orders(1)))).status).toBe(200)
  expect([await count({ branch: 'dev' }), await count()]).toEqual([1, 3])
  expect(await post('/v1/table/t/insert?branch=dev&mode=overwrite', schemaOnly())).toEqual(
    errorOf('Unsupported'),
  )
  expect((await post('/v1/table/t/restore', { branch: 'dev', version: 2 })).json).toEqual({})
  expect([await count({ branch: 'dev' }), await count()]).toEqual([7, 3])
})

it('never substitutes another branch or version for a missing one', async () => {
  const { branch, post, count } = await withVersions()
  await branch('create', { name: 'dev' })
  const insert = (name: string) => post(`/v1/table/t/insert?branch=${name}`, streamOf(orders(1)))
  const withVersion = ['describe', 'count_rows', 'query', 'restore', 'index/list', 'index/i/stats']
  for (const path of [...withVersion, 'version/delete', 'create_index', 'version/list']) {
    const send = (parts: { branch?: string; version?: number }) => {
      const query = path === 'version/list' ? `?branch=${encodeURIComponent(parts.branch ?? '')}` : ''
      const body = { k: 1, vector: [], ranges: [], column: 'id', index_type: 'BTREE', version: 1, ...parts }
      return post(`/v1/table/t/${path}${query}`, body)
    }
    for (const name of ['none', 'de', '日'])
      expect(await send({ branch: name }), path).toEqual(errorOf('TableBranchNotFound'))
    if (!withVersion.includes(path)) continue
    for (const point of [{ version: 9 }, { version: 9, branch: 'dev' }, { version: 1, branch: 'dev' }])
      expect(await send(point), path).toEqual(errorOf('TableVersionNotFound'))
  }
  expect(await insert('none')).toEqual(errorOf('TableBranchNotFound'))
  expect(await insert('..%2F..')).toEqual(errorOf('InvalidInput'))
  expect(await insert('')).toEqual(errorOf('InvalidInput'))
  expect((await insert('main')).status).toBe(200)
  expect(await count()).toBe(4)
})

it('validates branch names', async () => {
  const { branch } = await withVersions()
  for (const name of ['a/', 'a/..', 'a\\b', 'a/_versions', 'y'.repeat(81)])
    expect(await branch('create', { name })).toEqual(errorOf('InvalidInput'))
  for (const name of ['a', 'a/b', 'a/b/c', 'main/x', 'é/日', 'y'.repeat(80), 'a/data']) {
    expect([name, (await branch('create', { name })).status]).toEqual([name, 200])
  }
  expect(Object.keys(((await branch('list')).json as { branches: object }).branches)).toHaveLength(7)
  for (const name of ['', 'main', '../..', 'a/../b']) {
    expect(await branch('delete', { name })).toEqual(errorOf('InvalidInput'))
  }
})

it('follows no name out of the table, even if a client wrote the file of such a branch', async () => {
  const { branch, count, location, post, createTable } = await withVersions()
  const other = await createTable('other', orders(5))
  await branch('create', { name: 'dev' })
  const name = `../../${basename(other)}`
  const files = join(location, '_refs', 'branches')
  await copyFile(join(files, 'dev.json'), join(files, `${encodeURIComponent(name)}.json`))
  expect(await branch('delete', { name })).toEqual(errorOf('InvalidInput'))
  expect(await count({ branch: name })).toMatchObject({ code: errorCodes.InvalidInput.code })
  expect((await post('/v1/table/other/count_rows')).json).toBe(5)
})

it('does not delete a branch that has branches or tags', async () => {
  const { branch, post } = await withVersions()
  await branch('create', { name: 'dev' })
  await branch('create', { name: 'dev/x', from_branch: 'dev' })
  expect(await branch('delete', { name: 'dev' })).toEqual(errorOf('InvalidInput'))
  await branch('delete', { name: 'dev/x' })
  await post('/v1/table/t/tags/create', { tag: 'v', version: 2, branch: 'dev' })
  expect((await post('/v1/table/t/tags/version', { tag: 'v' })).json).toEqual({ version: 2, branch: 'dev' })
  expect(await branch('delete', { name: 'dev' })).toEqual(errorOf('InvalidInput'))
  await post('/v1/table/t/tags/delete', { tag: 'v' })
  expect(await branch('delete', { name: 'dev' })).toEqual(responseOf({}))
})

it('deletes a branch during writes and frees its name', async () => {
  const { branch, post, count } = await withVersions()
  for (let round = 0; round < 5; round += 1) {
    expect(await branch('create', { name: 'busy' })).toEqual(responseOf({}))
    const inserts = Array.from({ length: 4 }, () =>
      post('/v1/table/t/insert?branch=busy', streamOf(orders(1))),
    )
    expect(await branch('delete', { name: 'busy' })).toEqual(responseOf({}))
    for (const { status } of await Promise.all(inserts)) expect([200, 404]).toContain(status)
  }
  expect(await count()).toBe(3)
})

it('frees the name of a deleted branch and keeps branches beneath it', async () => {
  const { branch, count, post } = await withVersions()
  await branch('create', { name: 'a' })
  await branch('create', { name: 'a/b' })
  await post('/v1/table/t/insert?branch=a', streamOf(orders(9)))
  await branch('delete', { name: 'a' })
  expect(await post('/v1/table/t/version/list?branch=a')).toEqual(errorOf('TableBranchNotFound'))
  expect(await branch('create', { name: 'a', from_version: 1 })).toEqual(responseOf({}))
  expect([await count({ branch: 'a' }), await count({ branch: 'a/b' })]).toEqual([2, 3])
})

it('reserves the name of an interrupted branch until it is deleted', async () => {
  const { branch, location } = await withVersions()
  await branch('create', { name: 'a' })
  await rename(join(location, '_refs', 'branches', 'a.json'), join(location, 'gone'))
  await mkdir(join(location, 'tree', 'b'))
  expect(await branch('list')).toEqual(responseOf({ branches: {} }))
  expect(await branch('create', { name: 'a' })).toEqual(errorOf('TableBranchAlreadyExists'))
  expect((await branch('delete', { name: 'a' })).status).toBe(200)
  expect((await branch('create', { name: 'a' })).status).toBe(200)
  expect((await branch('create', { name: 'b' })).status).toBe(200)
})
