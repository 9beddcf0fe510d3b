import { cp, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'
import { committer } from '../support/staged-manifests.ts'

async function withDataset() {
  const backend = await backendWithTable()
  const { post, dataFolder, location } = backend
  const tables = join(dataFolder, 'tables')
  await mkdir(join(tables, 'imported'))
  await cp(location, join(tables, 'imported', 'x.lance'), { recursive: true })
  const register = (id: string, body: object) => post(`/v1/table/${id}/register`, body)
  return { ...backend, tables, register, relativeLocation: 'imported/x.lance' }
}

it('registers an existing dataset as an ordinary table', async () => {
  const { post, register, relativeLocation, tables, restart } = await withDataset()
  const location = join(tables, relativeLocation)
  expect(await register('r', { location: relativeLocation, properties: { x: '1' } })).toEqual(
    responseOf({ location, properties: { x: '1' } }),
  )
  expect(await post('/v1/table/r/count_rows', {})).toEqual(responseOf(3))
  expect(await post('/v1/table/r/describe', { check_declared: true })).toEqual(
    responseOf(expect.objectContaining({ location, properties: { x: '1' }, is_only_declared: false })),
  )
  await restart()
  const request = await (await committer(location)).stage()
  expect((await post('/v1/table/r/version/create', request)).status).toBe(200)
  expect((await post('/v1/table/r/insert', streamOf(orders(1)))).status).toBe(200)
  expect(await post('/v1/table/r/count_rows', {})).toEqual(responseOf(5))
})

it('keeps the data of a deregistered table until it is registered again', async () => {
  const { post, register, location, restart } = await withDataset()
  const request = await (await committer(location)).stage()
  await post('/v1/table/t/version/create', { ...request, metadata: { author: 'ann' } })
  expect(await post('/v1/table/t/deregister', {})).toEqual(
    responseOf({ id: ['t'], location, properties: {} }),
  )
  await restart()
  await restart()
  expect(await register('u', { location: basename(location) })).toEqual(
    responseOf({ location, properties: {} }),
  )
  expect(await post('/v1/table/u/count_rows', {})).toEqual(responseOf(4))
  await post('/v1/table/u/drop')
  expect(await register('u', { location: basename(location) })).toEqual(errorOf('InvalidInput'))
})

it('registers only readable datasets in the folder of the tables', async () => {
  const { register, relativeLocation, tables, dataFolder, get } = await withDataset()
  await mkdir(join(tables, 'empty.lance'))
  await writeFile(join(tables, 'file.lance'), 'x')
  await cp(join(tables, relativeLocation), join(dataFolder, 'outside.lance'), { recursive: true })
  await symlink(join(dataFolder, 'outside.lance'), join(tables, 'link.lance'))
  await symlink(dataFolder, join(tables, 'up'))
  await cp(join(tables, relativeLocation), join(tables, 'holds-link.lance'), { recursive: true })
  await rename(join(tables, 'holds-link.lance', 'data'), join(dataFolder, 'data'))
  await symlink(join(dataFolder, 'data'), join(tables, 'holds-link.lance', 'data'))
  await cp(join(tables, relativeLocation), join(tables, 'in.lance', 'y.lance'), { recursive: true })
  const locations = [
    '',
    '.lance',
    'x.lance',
    'imported',
    'imported/x.lance/',
    'imported//x.lance',
    './imported/x.lance',
    'imported/../imported/x.lance',
    '../outside.lance',
    '../tables/imported/x.lance',
    '..\\outside.lance',
    `/${relativeLocation}`,
    join(tables, relativeLocation),
    `file://${join(tables, relativeLocation)}`,
    's3://bucket/x.lance',
    'imported/x.lance\u0000.lance',
    'empty.lance',
    'file.lance',
    'file.lance/x.lance',
    'link.lance',
    'up/outside.lance',
    'holds-link.lance',
    'in.lance/y.lance',
  ]
  for (const location of locations) {
    const response = await register('r', { location })
    expect(response, location).toEqual(errorOf('InvalidInput'))
    // An error may show the sent location and nothing else.
    if (!location.includes(dataFolder)) expect(JSON.stringify(response.json)).not.toContain(dataFolder)
  }
  expect(await register('r', {})).toEqual(errorOf('InvalidInput'))
  expect(await register('r', { location: relativeLocation, mode: 'Append' })).toEqual(errorOf('InvalidInput'))
  expect(await register('n$r', { location: relativeLocation })).toEqual(errorOf('NamespaceNotFound'))
  expect(await get('/v1/table')).toEqual(responseOf({ tables: ['t'] }))
})

it('rejects registering the same data twice', async () => {
  const { post, register, relativeLocation, location } = await withDataset()
  expect(await register('r', { location: basename(location) })).toEqual(errorOf('TableAlreadyExists'))
  const responses = await Promise.all(
    ['p', 'q', 'r'].map((id) => register(id, { location: relativeLocation })),
  )
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(responses.filter(({ status }) => status === 409)).toHaveLength(2)
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
})

it('requires Overwrite to register a taken name, and keeps the old data', async () => {
  const { post, register, relativeLocation, location, tables } = await withDataset()
  await post('/v1/namespace/n/create', {})
  const body = { location: relativeLocation, properties: { x: '1' } }
  expect(await register('t', body)).toEqual(errorOf('TableAlreadyExists'))
  expect(await register('n', { ...body, mode: 'overwrite' })).toEqual(errorOf('TableAlreadyExists'))
  expect((await register('t', { ...body, mode: 'OVERWRITE' })).status).toBe(200)
  expect(await post('/v1/table/t/describe', {})).toEqual(
    responseOf(expect.objectContaining({ location: join(tables, relativeLocation), properties: { x: '1' } })),
  )
  expect((await register('t', { ...body, properties: {}, mode: 'Overwrite' })).status).toBe(200)
  expect((await register('old', { location: basename(location) })).status).toBe(200)
  expect(await post('/v1/table/old/count_rows', {})).toEqual(responseOf(3))
})
