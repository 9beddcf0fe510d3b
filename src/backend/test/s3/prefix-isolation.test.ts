import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import { freshBucket } from './object-store.ts'

it('removes exactly the objects of a dropped table', async () => {
  const bucket = await freshBucket()
  const { post, get } = await runningBackend(bucket.settings, bucket.folder)
  const { location } = (await post('/v1/table/t/create', streamOf(orders(5)))).json as { location: string }
  const key = location.slice(`s3://${bucket.bucket}/`.length)
  const bystanders = ['top', 'some/other', 'some/prefix2/tables/x', `${key}x/data/1`, `${key}.bak`]
  for (const name of bystanders) await bucket.put(name, name)
  await post('/v1/table/t/branches/create', { name: 'dev/one' })
  expect((await post('/v1/table/t/insert?branch=dev%2Fone', streamOf(orders(2)))).status).toBe(200)
  expect(await post('/v1/table/t/count_rows', { branch: 'dev/one' })).toEqual(responseOf(7))
  await post('/v1/table/t/tags/create', { tag: 'first', version: 1 })
  await post('/v1/table/t/schema_metadata/update', { metadata: { owner: 'me' } })
  await post('/v1/table/t/create_index', { column: 'id', index_type: 'BTREE' })
  expect((await get('/v1/table/t/count_rows')).json).toBe(5)

  expect((await post('/v1/table/t/branches/delete', { name: 'dev/one' })).status).toBe(200)
  expect(await bucket.keys(`${key}/tree/`)).toEqual([])
  expect((await post('/v1/table/t/drop')).status).toBe(200)
  expect(await bucket.keys(`${key}/`)).toEqual([])
  const left = (await bucket.keys()).filter((name) => !name.includes('/__manifest/'))
  expect(left.toSorted()).toEqual([...bystanders, 'some/prefix/catalog.json'].toSorted())
})

it('removes a table with more objects than one delete request holds', async () => {
  const bucket = await freshBucket()
  const { post } = await runningBackend(bucket.settings, bucket.folder)
  const { location } = (await post('/v1/table/t/create', streamOf(orders(1)))).json as { location: string }
  const key = location.slice(`s3://${bucket.bucket}/`.length)
  const numbers = Array.from({ length: 1_100 }, (_, index) => index)
  await Promise.all(numbers.map((number) => bucket.put(`${key}/data/${number}`, 'x')))
  await post('/v1/table/t/drop')
  expect(await bucket.keys(`${key}/`)).toEqual([])
})

it('rejects a branch name that the engine cannot find again', async () => {
  const bucket = await freshBucket()
  const { post } = await runningBackend(bucket.settings, bucket.folder)
  await post('/v1/table/t/create', streamOf(orders(1)))
  expect(await post('/v1/table/t/branches/create', { name: 'été' })).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/table/t/branches/list', {})).toEqual(responseOf({ branches: {} }))
})

it('only a dataset beneath the prefix can be registered', async () => {
  const bucket = await freshBucket()
  const { post, get } = await runningBackend(bucket.settings, bucket.folder)
  await post('/v1/table/t/create', streamOf(orders(3)))
  const { location } = (await post('/v1/table/t/deregister')).json as { location: string }
  const name = location.split('/').at(-1) ?? ''
  const wrong = [
    'none.lance',
    `../tables/${name}`,
    `%2e%2e/tables/${name}`,
    `x%2F..%2F${name}`,
    `./${name}`,
    location,
  ]
  for (const location of wrong) {
    expect(await post('/v1/table/r/register', { location })).toEqual(errorOf('InvalidInput'))
  }
  expect((await post('/v1/table/r/register', { location: name })).status).toBe(200)
  expect((await get('/v1/table/r/count_rows')).json).toBe(3)
})
