import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTransactions() {
  const backend = await runningBackend()
  const { post } = backend
  await post('/v1/namespace/n/create', {})
  const location = await backend.createTable('n$t')
  await post('/v1/table/n$t/insert', streamOf(orders(1)))
  const describe = (id: string, body?: object) => post(`/v1/transaction/n$t$${id}/describe`, body ?? {})
  const { properties } = (await describe('2')).json as { properties: Record<string, string> }
  const uuid = properties['uuid'] ?? ''
  return { ...backend, location, describe, uuid }
}

it('describes a commit by version and by UUID', async () => {
  const { describe, uuid, post } = await withTransactions()
  const described = {
    status: 'Succeeded',
    properties: { uuid, version: '2', read_version: '1', operation: 'Append' },
  }
  expect(uuid).toMatch(/^[0-9a-f-]{36}$/)
  expect(await describe('2')).toEqual(responseOf(described))
  expect(await describe(uuid)).toEqual(responseOf(described))
  expect(await describe(uuid.toUpperCase())).toEqual(responseOf(described))
  expect(await describe(uuid, { id: ['n', 't', uuid] })).toEqual(responseOf(described))
  expect(await describe('1')).toEqual(
    responseOf({ status: 'Succeeded', properties: expect.objectContaining({ operation: 'Overwrite' }) }),
  )
  await post('/v1/table/n$t/rename', { new_table_name: 'u' })
  expect(await post(`/v1/transaction/n$u$${uuid}/describe`, {})).toEqual(responseOf(described))
})

it('finds a commit on a branch', async () => {
  const { describe, post, location } = await withTransactions()
  expect((await post('/v1/table/n$t/branches/create', { name: 'dev/one' })).status).toBe(200)
  await post('/v1/table/n$t/insert?branch=dev%2Fone', streamOf(orders(1)))
  const files = await readdir(join(location, 'tree', 'dev', 'one', '_transactions'))
  const uuids = files.flatMap((file) => /-(.{36})\.txn$/.exec(file)?.[1] ?? [])
  const responses = await Promise.all(uuids.map((uuid) => describe(uuid)))
  expect(responses).toContainEqual(
    responseOf({
      status: 'Succeeded',
      properties: expect.objectContaining({ branch: 'dev/one', operation: 'Append' }),
    }),
  )
})

it('reports anything but a transaction as not found', async () => {
  const { describe, post, uuid } = await withTransactions()
  await post('/v1/table/n$d/declare', {})
  const none = '00000000-0000-4000-8000-000000000000'
  for (const name of [none, '3', '0', '-1', '01', '99999999999999999999', 'x', 'manifest']) {
    expect(await describe(name), name).toEqual(errorOf('TransactionNotFound'))
  }
  for (const table of ['x', 'n$x', 'x$t', 'n$d', 'n']) {
    const found = await post(`/v1/transaction/${table}$${uuid}/describe`, {})
    expect(found, table).toEqual(errorOf('TransactionNotFound'))
  }
  expect(await post(`/v1/transaction/${uuid}/describe`, {})).toEqual(errorOf('InvalidInput'))
  expect(await post(`/v1/transaction/$/describe`, {})).toEqual(errorOf('InvalidInput'))
  expect(await describe(uuid, { id: ['n', 't'] })).toEqual(errorOf('InvalidInput'))
})
