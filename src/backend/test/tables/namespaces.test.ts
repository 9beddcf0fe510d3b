import { expect, it } from 'vitest'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

it('a namespace that is not empty is not overwritten', async () => {
  const { post } = await runningBackend()
  await post('/v1/namespace/a/create', {})
  await post('/v1/table/a$t/declare', {})
  expect(await post('/v1/namespace/a/create', { mode: 'Overwrite' })).toEqual(errorOf('NamespaceNotEmpty'))
})

it('drops what is below a namespace, and nothing whose name begins alike', async () => {
  const { post, get } = await runningBackend()
  for (const path of ['a', 'a$b', 'a$b$c', 'a0', 'ab']) await post(`/v1/namespace/${path}/create`, {})
  await post('/v1/table/a$b$t/declare', {})
  expect(await post('/v1/namespace/a/drop', { behavior: 'Restrict' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/a/drop', { behavior: '"Cascade"', mode: '"Skip"' })).toEqual(
    responseOf({ properties: {} }),
  )
  expect(await get('/v1/namespace/$/list')).toEqual(responseOf({ namespaces: ['a0', 'ab'] }))
  expect(await post('/v1/table/a$b$t/exists', {})).toEqual(errorOf('NamespaceNotFound'))
})
