import { expect, it } from 'vitest'
import { openLocalEngine, orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

it('a declared table has a location and no data', async () => {
  const { post } = await runningBackend()
  const { json } = await post('/v1/table/t/declare', { properties: { x: '1' }, vend_credentials: true })
  const { location } = json as { location: string }
  expect(json).toEqual({ location, properties: { x: '1' }, managed_versioning: true })
  expect(await post('/v1/table/t/exists', { version: 1 })).toEqual(errorOf('TableVersionNotFound'))
  const described = { table: 't', namespace: [], location, properties: { x: '1' }, managed_versioning: true }
  expect(await post('/v1/table/t/describe', {})).toEqual(responseOf(described))
  expect(await post('/v1/table/t/describe', { load_detailed_metadata: true, check_declared: true })).toEqual(
    responseOf({ ...described, is_only_declared: true }),
  )
  expect(await post('/v1/table/t/version/list')).toEqual(responseOf({ versions: [] }))
  expect(await post('/v1/table/t/version/describe', {})).toEqual(errorOf('TableVersionNotFound'))
  expect(await post('/v1/table/t/count_rows', {})).toEqual(errorOf('TableNotFound'))
  expect(await post('/v1/table/t/query', { k: 1 })).toEqual(errorOf('TableNotFound'))
  expect(await post('/v1/table/t/create', streamOf(orders(1)))).toEqual(errorOf('TableAlreadyExists'))
})

it.each([
  ['insert', '/v1/table/t/insert'],
  ['insert that overwrites', '/v1/table/t/insert?mode=overwrite'],
  ['creation where it exists', '/v1/table/t/create?mode=ExistOk'],
  ['creation that overwrites', '/v1/table/t/create?mode=Overwrite'],
])('an %s gives a declared table its data', async (_what, target) => {
  const { post } = await runningBackend()
  const declared = (await post('/v1/table/t/declare', { properties: { x: '1' } })).json
  expect(await post(target, streamOf(orders(3)))).toEqual(responseOf(expect.objectContaining({ version: 1 })))
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
  expect(await post('/v1/table/t/describe', { check_declared: true })).toEqual(
    responseOf(expect.objectContaining({ ...(declared as object), is_only_declared: false })),
  )
})

it('keeps the properties of a declared table with ExistOk', async () => {
  const { post } = await runningBackend()
  const create = (mode: string) =>
    post(`/v1/table/t/create?mode=${mode}&properties=%7B%22x%22%3A%222%22%7D`, streamOf(orders(1)))
  await post('/v1/table/t/declare', { properties: { x: '1' } })
  expect(await create('ExistOk')).toEqual(responseOf(expect.objectContaining({ properties: { x: '1' } })))
  expect(await create('Overwrite')).toEqual(responseOf(expect.objectContaining({ properties: { x: '2' } })))
})

it('loses no row of concurrent first inserts', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/declare', {})
  const responses = await Promise.all(
    Array.from({ length: 6 }, () => post('/v1/table/t/insert', streamOf(orders(2)))),
  )
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(12))
})

it('finds data that a client wrote directly', async () => {
  const { post } = await runningBackend()
  const { location } = (await post('/v1/table/t/declare', {})).json as { location: string }
  await openLocalEngine().create(location, streamOf(orders(3)), 'create')
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
  expect(await post('/v1/table/t/describe', { check_declared: true })).toEqual(
    responseOf(expect.objectContaining({ is_only_declared: false })),
  )
})

it('leaves a table declared if its first insert is not a stream', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/declare', {})
  expect(await post('/v1/table/t/insert', 'not Arrow')).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/table/t/describe', { check_declared: true })).toEqual(
    responseOf(expect.objectContaining({ is_only_declared: true })),
  )
  expect((await post('/v1/table/t/insert', streamOf(orders(1)))).status).toBe(200)
})
