import { expect, it } from 'vitest'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

it('a namespace is created, described, found and dropped', async () => {
  const { post } = await runningBackend()
  expect(await post('/v1/namespace/a/create', { properties: { owner: 'ann' } })).toEqual(
    responseOf({ properties: { owner: 'ann' } }),
  )
  expect(await post('/v1/namespace/a/describe', {})).toEqual(responseOf({ properties: { owner: 'ann' } }))
  const found = await post('/v1/namespace/a/exists', {})
  expect([found.status, found.bytes().length]).toEqual([200, 0])
  expect(await post('/v1/namespace/a/drop', {})).toEqual(responseOf({ properties: { owner: 'ann' } }))
  expect(await post('/v1/namespace/a/exists', {})).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/namespace/a/describe', {})).toEqual(errorOf('NamespaceNotFound'))
})

it('requires the parent namespace', async () => {
  const { post } = await runningBackend()
  expect(await post('/v1/namespace/a$b/create', {})).toEqual(errorOf('NamespaceNotFound'))
  await post('/v1/namespace/a/create', {})
  expect(await post('/v1/namespace/a$b/create', {})).toEqual(responseOf({ properties: {} }))
})

it('supports the creation modes', async () => {
  const { post } = await runningBackend()
  await post('/v1/namespace/a/create', { properties: { x: '1' } })
  expect(await post('/v1/namespace/a/create', { mode: 'Create' })).toEqual(errorOf('NamespaceAlreadyExists'))
  for (const mode of ['ExistOk', 'exist_ok', 'EXISTOK', '"ExistOk"']) {
    expect(await post('/v1/namespace/a/create', { mode, properties: { x: '2' } })).toEqual(
      responseOf({ properties: { x: '1' } }),
    )
  }
  expect(await post('/v1/namespace/a/create', { mode: 'overwrite', properties: { x: '3' } })).toEqual(
    responseOf({ properties: { x: '3' } }),
  )
  await post('/v1/table/a$t/declare', {})
  expect(await post('/v1/namespace/a/create', { mode: 'Overwrite' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/b/create', { mode: 'sometimes' })).toEqual(errorOf('InvalidInput'))
})

it('supports the modes and behaviors of dropping', async () => {
  const { post, get } = await runningBackend()
  expect(await post('/v1/namespace/a/drop', {})).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/namespace/a/drop', { mode: 'skip' })).toEqual(responseOf({}))
  for (const path of ['a', 'a$b', 'a$b$c', 'a0', 'ab']) await post(`/v1/namespace/${path}/create`, {})
  await post('/v1/table/a$b$t/declare', {})
  expect(await post('/v1/namespace/a/drop', { behavior: 'Restrict' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/a/drop', { behavior: '"Cascade"', mode: '"Skip"' })).toEqual(
    responseOf({ properties: {} }),
  )
  expect(await get('/v1/namespace/$/list')).toEqual(responseOf({ namespaces: ['a0', 'ab'] }))
  expect(await post('/v1/table/a$b$t/exists', {})).toEqual(errorOf('NamespaceNotFound'))
})

it('the root exists, and is neither created nor dropped', async () => {
  const { post } = await runningBackend()
  expect((await post('/v1/namespace/$/exists', {})).status).toBe(200)
  expect(await post('/v1/namespace/$/describe', {})).toEqual(responseOf({ properties: {} }))
  expect(await post('/v1/namespace/$/create', { mode: 'ExistOk' })).toEqual(errorOf('NamespaceAlreadyExists'))
  expect(await post('/v1/namespace/$/drop', { behavior: 'Cascade' })).toEqual(errorOf('InvalidInput'))
})

it('a namespace and a table cannot have the same name', async () => {
  const { post } = await runningBackend()
  await post('/v1/namespace/a/create', {})
  await post('/v1/table/t/declare', {})
  expect(await post('/v1/table/a/declare', {})).toEqual(errorOf('TableAlreadyExists'))
  expect(await post('/v1/namespace/t/create', { mode: 'ExistOk' })).toEqual(errorOf('NamespaceAlreadyExists'))
  expect(await post('/v1/namespace/t/describe', {})).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/namespace/t/drop', { behavior: 'Cascade' })).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/table/a/describe', {})).toEqual(errorOf('TableNotFound'))
})

it('lets exactly one of many concurrent namespace creations win', async () => {
  const { post } = await runningBackend()
  const responses = await Promise.all(Array.from({ length: 20 }, () => post('/v1/namespace/a/create', {})))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(responses.filter(({ status }) => status === 409)).toHaveLength(19)
})
