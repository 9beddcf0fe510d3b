import { beforeAll, describe, expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend, useSharedBackend } from '../support/running-backend.ts'

const catalog = useSharedBackend()

beforeAll(async () => {
  expect((await catalog.post('/v1/table/t/create', streamOf(orders(3)))).status).toBe(200)
})

describe('ids of 10,000 parts', () => {
  const parts = Array.from({ length: 10_000 }, () => 'a')

  it('are refused in a route', async () => {
    const target = `/v1/namespace/${parts.join('$')}/create`
    expect(await catalog.post(target, {})).toEqual(errorOf('InvalidInput', 414))
  })

  it('are refused in a body', async () => {
    const namespaces = await catalog.get('/v1/namespace/$/list')
    expect(await catalog.post('/v1/namespace/a/create', { id: parts })).toEqual(errorOf('InvalidInput'))
    expect(await catalog.post('/v1/table/a/declare', { id: parts })).toEqual(errorOf('InvalidInput'))
    const rename = { new_table_name: 'u', new_namespace_id: parts }
    expect(await catalog.post('/v1/table/t/rename', rename)).toEqual(errorOf('InvalidInput'))
    expect(await catalog.get('/v1/namespace/$/list')).toEqual(responseOf(namespaces.json))
    expect(await catalog.get('/v1/table')).toEqual(responseOf({ tables: ['t'] }))
  })
})

it('accepts the longest id and rejects one byte more', async () => {
  const { get, post } = await runningBackend()
  const long = 'n'.repeat(4096)
  expect((await post(`/v1/namespace/${long}/create`, {})).status).toBe(200)
  expect(await get('/v1/namespace/$/list')).toEqual(responseOf({ namespaces: [long] }))
  expect(await post(`/v1/namespace/${long}n/create`, {})).toEqual(errorOf('InvalidInput'))
})

describe('versions that no number of JavaScript holds', () => {
  // As text, because clients in other languages write them so in a body.
  const versions = ['9007199254740992', '9007199254740993', '18446744073709551615', '1e300', '-1', '1.5']
  it.for([
    ['describe', '"version":V'],
    ['restore', '"version":V'],
    ['query', '"k":1,"vector":[],"version":V'],
    ['count_rows', '"version":V'],
    ['version/describe', '"version":V'],
    ['version/create', '"version":V,"manifest_path":"x"'],
    ['version/delete', '"ranges":[{"start_version":V,"end_version":-1}]'],
    ['tags/create', '"tag":"x","version":V'],
    ['tags/update', '"tag":"x","version":V'],
    ['branches/create', '"name":"x","from_version":V'],
  ])('are refused by %s', async ([target = '', members = '']) => {
    for (const version of versions) {
      const response = await catalog.post(`/v1/table/t/${target}`, `{${members.replace('V', version)}}`)
      expect(response, version).toEqual(errorOf('InvalidInput'))
    }
    expect(await catalog.post('/v1/table/t/version/list', {})).toMatchObject({
      json: { versions: [{ version: 1 }] },
    })
  })
})
