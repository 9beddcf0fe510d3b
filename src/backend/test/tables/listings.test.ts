import { expect, it } from 'vitest'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

/** In the byte order of UTF-8, which differs from JavaScript's. */
const names = ['A', 'Z', 'a', 'b', 'é', '\uFFFD', '😀']

it('lists namespaces and tables separately, in byte order, in pages', async () => {
  const { post, get } = await runningBackend()
  for (const name of names.toReversed()) {
    await post(`/v1/namespace/${encodeURIComponent(name)}/create`, {})
    await post(`/v1/table/t${encodeURIComponent(name)}/declare`, {})
  }
  expect(await get('/v1/namespace/$/list')).toEqual(responseOf({ namespaces: names }))
  expect(await get('/v1/namespace/$/list?limit=7')).toEqual(responseOf({ namespaces: names }))
  expect(await get('/v1/namespace/%24/list?limit=3&page_token=')).toEqual(
    responseOf({ namespaces: names.slice(0, 3), page_token: 'a' }),
  )
  expect(await get('/v1/namespace/$/list?limit=3&page_token=a')).toEqual(
    responseOf({ namespaces: names.slice(3, 6), page_token: '\uFFFD' }),
  )
  expect(await get('/v1/namespace/$/list?page_token=%EF%BF%BD')).toEqual(responseOf({ namespaces: ['😀'] }))
  expect(await get('/v1/namespace/$/table/list?limit=2&page_token=ta')).toEqual(
    responseOf({ tables: ['tb', 'té'], page_token: 'té' }),
  )
})

it('an empty page has a token if more follow, which leads on with a larger limit', async () => {
  const { post, get } = await runningBackend()
  for (const name of ['!', 'b']) await post(`/v1/namespace/${name}/create`, {})
  for (const path of ['!', 'b']) await post(`/v1/table/${path}$t/declare`, {})
  for (const [route, member, all] of [
    ['namespace/$/list', 'namespaces', ['!', 'b']],
    ['namespace/b/table/list', 'tables', ['t']],
    ['table', 'tables', ['!$t', 'b$t']],
  ] as const) {
    const list = async (query: string): Promise<Record<string, unknown>> =>
      (await get(`/v1/${route}?${query}`)).json as Record<string, unknown>
    const follow = (token: unknown, limit: number) =>
      list(`limit=${limit}&page_token=${encodeURIComponent(String(token))}`)
    const first = await list('limit=0')
    expect(first).toEqual({ [member]: [], page_token: expect.any(String) })
    expect(await follow(first['page_token'], 0)).toEqual(first)
    expect(await follow(first['page_token'], 9)).toEqual({ [member]: all })
    const second = await list('limit=1')
    if (all.length > 1) expect(await follow(second['page_token'], 0)).toEqual({ ...second, [member]: [] })
    expect(await list(`limit=0&page_token=zz`)).toEqual({ [member]: [] })
  }
})

it('lists namespaces by POST as by GET, paged by the query or the body', async () => {
  const { post } = await runningBackend()
  for (const name of ['a', 'b', 'c']) await post(`/v1/namespace/${name}/create`, {})
  const list = (body?: unknown, query = '') => post(`/v1/namespace/$/list${query}`, body)
  for (const body of [undefined, '', 'null', {}, { id: [], limit: null }])
    expect(await list(body)).toEqual(responseOf({ namespaces: ['a', 'b', 'c'] }))
  const page = responseOf({ namespaces: ['b'], page_token: 'b' })
  expect(await list({ limit: 1, page_token: 'a' })).toEqual(page)
  expect(await list({ limit: 1 }, '?limit=1&page_token=a')).toEqual(page)
  for (const body of [{ id: ['a'] }, { limit: 2 }, { page_token: 7 }, [], '{'])
    expect(await list(body, '?limit=1')).toEqual(errorOf('InvalidInput'))
})

it('requires another delimiter for a name that contains it', async () => {
  const { post, get } = await runningBackend()
  await post('/v1/table/a%24b/declare?delimiter=.', {})
  expect(await get('/v1/namespace/$/table/list')).toEqual(responseOf({ tables: ['a$b'] }))
  expect(await get('/v1/table')).toEqual(errorOf('InvalidInput'))
  expect(await get('/v1/table?delimiter=.')).toEqual(responseOf({ tables: ['a$b'] }))
})
