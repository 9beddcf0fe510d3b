import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable, runningBackend } from '../support/running-backend.ts'

/** Creates a table with the versions 1 to 3, of 2, 3 and 4 rows. */
async function withVersions() {
  const backend = await backendWithTable(orders(2))
  await backend.post('/v1/table/t/insert', streamOf(orders(1, 2)))
  await backend.post('/v1/table/t/insert', streamOf(orders(1, 3)))
  const tag = (action: string, body?: unknown) => backend.post(`/v1/table/t/tags/${action}`, body)
  return { ...backend, tag }
}

it('a name that no tag can have is that of a missing tag', async () => {
  const { tag } = await withVersions()
  for (const name of ['..', '../a', 'x/../a', '', '\ud800', 'y'.repeat(300)]) {
    expect(await tag('version', { tag: name })).toEqual(errorOf('TableTagNotFound'))
    expect(await tag('update', { tag: name, version: 1 })).toEqual(errorOf('TableTagNotFound'))
    expect(await tag('delete', { tag: name })).toEqual(errorOf('TableTagNotFound'))
  }
})

it('a declared table has no tags', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/declare', {})
  expect(await post('/v1/table/t/tags/list')).toEqual(responseOf({ tags: {} }))
  expect(await post('/v1/table/t/tags/create', { tag: 'a', version: 1 })).toEqual(errorOf('TableNotFound'))
})

it('a tag has a name of at most 80 bytes of any script', async () => {
  const { tag } = await withVersions()
  for (const name of ['%', 'a\u0000', '\ud800', 'y'.repeat(81)])
    expect(await tag('create', { tag: name, version: 1 })).toEqual(errorOf('InvalidInput'))
  for (const name of ['a', '1', '_', '-', 'a.b-c_D', 'é', '日'.repeat(26), 'y'.repeat(80)]) {
    expect((await tag('create', { tag: name, version: 1 })).status).toBe(200)
    expect((await tag('version', { tag: name })).status).toBe(200)
  }
})

it('tags are listed page by page, in the order of bytes', async () => {
  const { tag, get } = await withVersions()
  for (const name of ['b', 'é', 'B', 'a', '日']) await tag('create', { tag: name, version: 1 })
  const list = async (query: string) => {
    const { json } = await get(`/v1/table/t/tags/list?${query}`)
    const { tags, page_token } = json as { tags: object; page_token?: string }
    return [Object.keys(tags), page_token]
  }
  expect(await list('')).toEqual([['B', 'a', 'b', 'é', '日'], undefined])
  expect(await list('limit=2')).toEqual([['B', 'a'], 'a'])
  expect(await list('limit=2&page_token=a')).toEqual([['b', 'é'], 'é'])
  expect(await list('limit=2&page_token=%C3%A9')).toEqual([['日'], undefined])
  const [none, token] = await list('limit=0')
  expect(none).toEqual([])
  expect(await list(`limit=9&page_token=${encodeURIComponent(String(token))}`)).toEqual(await list(''))
  expect(await list('limit=0&page_token=a')).toEqual([[], 'a'])
})
