import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

/** Creates a table with the versions 1 to 3, of 2, 3 and 4 rows. */
async function withVersions() {
  const backend = await runningBackend()
  await backend.post('/v1/table/t/create', streamOf(orders(2)))
  await backend.post('/v1/table/t/insert', streamOf(orders(1, 2)))
  await backend.post('/v1/table/t/insert', streamOf(orders(1, 3)))
  const tag = (action: string, body?: unknown) => backend.post(`/v1/table/t/tags/${action}`, body)
  return { ...backend, tag }
}

it('a tag survives a restart', async () => {
  const { tag, restart } = await withVersions()
  await tag('create', { tag: 'née-日本', version: 3 })
  await restart()
  expect(await tag('version', { tag: 'née-日本' })).toEqual(responseOf({ version: 3 }))
})

it('distinguishes missing tables, tags and versions', async () => {
  const { tag, post } = await withVersions()
  await tag('create', { tag: 'a', version: 1 })
  expect(await tag('create', { tag: 'a', version: 2 })).toEqual(errorOf('TableTagAlreadyExists'))
  expect(await tag('create', { tag: 'b', version: 9 })).toEqual(errorOf('TableVersionNotFound'))
  expect(await tag('update', { tag: 'a', version: 9 })).toEqual(errorOf('TableVersionNotFound'))
  expect(await tag('create', { tag: 'b', version: 1, branch: 'x' })).toEqual(errorOf('TableBranchNotFound'))
  for (const name of ['b', '..', '../a', 'x/../a', '', '\ud800', 'y'.repeat(300)]) {
    expect(await tag('version', { tag: name })).toEqual(errorOf('TableTagNotFound'))
    expect(await tag('update', { tag: name, version: 1 })).toEqual(errorOf('TableTagNotFound'))
    expect(await tag('delete', { tag: name })).toEqual(errorOf('TableTagNotFound'))
  }
  for (const action of ['list', 'create', 'version', 'update', 'delete']) {
    expect(await post(`/v1/table/none/tags/${action}`, { tag: 'a', version: 1 })).toEqual(
      errorOf('TableNotFound'),
    )
  }
  await post('/v1/table/declared/declare', {})
  expect(await post('/v1/table/declared/tags/list')).toEqual(responseOf({ tags: {} }))
  expect(await post('/v1/table/declared/tags/create', { tag: 'a', version: 1 })).toEqual(
    errorOf('TableNotFound'),
  )
})

it('validates tag names', async () => {
  const { tag } = await withVersions()
  for (const name of [
    '',
    '.a',
    'a.',
    'a..b',
    'a.lock',
    'a/b',
    'a b',
    '%',
    'a\u0000',
    '\ud800',
    'y'.repeat(81),
  ]) {
    expect(await tag('create', { tag: name, version: 1 })).toEqual(errorOf('InvalidInput'))
  }
  for (const name of ['a', '1', '_', '-', 'a.b-c_D', 'é', '日'.repeat(26), 'y'.repeat(80)]) {
    expect((await tag('create', { tag: name, version: 1 })).status).toBe(200)
    expect((await tag('version', { tag: name })).status).toBe(200)
  }
  for (const body of [
    {},
    { tag: 'x' },
    { tag: 1, version: 1 },
    { tag: 'x', version: 0 },
    { tag: 'x', version: '1' },
  ]) {
    expect(await tag('create', body)).toEqual(errorOf('InvalidInput'))
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

it('resolves a tag when a table is described', async () => {
  const { tag, post } = await withVersions()
  await tag('create', { tag: 'old', version: 2 })
  const describe = (body: object) => post('/v1/table/t/describe', { load_detailed_metadata: true, ...body })
  expect((await describe({ tag: 'old' })).json).toMatchObject({ version: 2 })
  expect((await describe({})).json).toMatchObject({ version: 3 })
  expect(await describe({ tag: 'none' })).toEqual(errorOf('TableTagNotFound'))
  expect(await describe({ tag: 'old', version: 2 })).toEqual(errorOf('InvalidInput'))
  expect(await describe({ tag: 'old', branch: 'main' })).toEqual(errorOf('InvalidInput'))
})
