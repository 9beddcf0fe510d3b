import { expect, it } from 'vitest'
import { answerOf, errorOf, runningBackend } from './running-backend.ts'

it('a namespace is created, described, found and dropped', async () => {
  const { post } = await runningBackend()
  expect(await post('/v1/namespace/a/create', { properties: { owner: 'ann' } })).toEqual(
    answerOf({ properties: { owner: 'ann' } }),
  )
  expect(await post('/v1/namespace/a/describe', {})).toEqual(answerOf({ properties: { owner: 'ann' } }))
  const found = await post('/v1/namespace/a/exists', {})
  expect([found.status, found.bytes().length]).toEqual([200, 0])
  expect(await post('/v1/namespace/a/drop', {})).toEqual(answerOf({ properties: { owner: 'ann' } }))
  expect(await post('/v1/namespace/a/exists', {})).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/namespace/a/describe', {})).toEqual(errorOf('NamespaceNotFound'))
})

it('a namespace needs its parent', async () => {
  const { post } = await runningBackend()
  expect(await post('/v1/namespace/a$b/create', {})).toEqual(errorOf('NamespaceNotFound'))
  await post('/v1/namespace/a/create', {})
  expect(await post('/v1/namespace/a$b/create', {})).toEqual(answerOf({ properties: {} }))
})

it('the modes of creation', async () => {
  const { post } = await runningBackend()
  await post('/v1/namespace/a/create', { properties: { x: '1' } })
  expect(await post('/v1/namespace/a/create', { mode: 'Create' })).toEqual(errorOf('NamespaceAlreadyExists'))
  for (const mode of ['ExistOk', 'exist_ok', 'EXISTOK', '"ExistOk"']) {
    expect(await post('/v1/namespace/a/create', { mode, properties: { x: '2' } })).toEqual(
      answerOf({ properties: { x: '1' } }),
    )
  }
  expect(await post('/v1/namespace/a/create', { mode: 'overwrite', properties: { x: '3' } })).toEqual(
    answerOf({ properties: { x: '3' } }),
  )
  await post('/v1/table/a$t/declare', {})
  expect(await post('/v1/namespace/a/create', { mode: 'Overwrite' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/b/create', { mode: 'sometimes' })).toEqual(errorOf('InvalidInput'))
})

it('the modes and behaviors of dropping', async () => {
  const { post, get } = await runningBackend()
  expect(await post('/v1/namespace/a/drop', {})).toEqual(errorOf('NamespaceNotFound'))
  expect(await post('/v1/namespace/a/drop', { mode: 'skip' })).toEqual(answerOf({}))
  for (const path of ['a', 'a$b', 'a$b$c', 'a0', 'ab']) await post(`/v1/namespace/${path}/create`, {})
  await post('/v1/table/a$b$t/declare', {})
  expect(await post('/v1/namespace/a/drop', { behavior: 'Restrict' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/a/drop', { behavior: '"Cascade"', mode: '"Skip"' })).toEqual(
    answerOf({ properties: {} }),
  )
  expect(await get('/v1/namespace/$/list')).toEqual(answerOf({ namespaces: ['a0', 'ab'] }))
  expect(await post('/v1/table/a$b$t/exists', {})).toEqual(errorOf('NamespaceNotFound'))
})

it('the root exists, and is neither created nor dropped', async () => {
  const { post } = await runningBackend()
  expect((await post('/v1/namespace/$/exists', {})).status).toBe(200)
  expect(await post('/v1/namespace/$/describe', {})).toEqual(answerOf({ properties: {} }))
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

it('of many who create one namespace, one wins', async () => {
  const { post } = await runningBackend()
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('/v1/namespace/a/create', {})))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(19)
})
