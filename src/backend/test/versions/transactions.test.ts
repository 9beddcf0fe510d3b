import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTransactions() {
  const backend = await runningBackend()
  const { post } = backend
  await post('/v1/namespace/n/create', {})
  const { location } = (await post('/v1/table/n$t/create', streamOf(orders(3)))).json as { location: string }
  await post('/v1/table/n$t/insert', streamOf(orders(1)))
  const describe = (id: string, body?: object) => post(`/v1/transaction/n$t$${id}/describe`, body ?? {})
  const { properties } = (await describe('2')).json as { properties: Record<string, string> }
  const uuid = properties['uuid'] ?? ''
  const alter = (actions: unknown) => post(`/v1/transaction/n$t$${uuid}/alter`, { actions })
  return { ...backend, location, describe, alter, uuid }
}

it('describes a commit by version and by UUID', async () => {
  const { describe, uuid, location, post } = await withTransactions()
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
  // Transaction files only speed up the search and may be missing.
  await rm(join(location, '_transactions'), { recursive: true })
  expect(await describe(uuid)).toEqual(responseOf(described))
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
    expect(await post(`/v1/transaction/${table}$${uuid}/describe`, {}), table).toEqual(
      errorOf('TransactionNotFound'),
    )
  }
  expect(await post(`/v1/transaction/${uuid}/describe`, {})).toEqual(errorOf('InvalidInput'))
  expect(await post(`/v1/transaction/$/describe`, {})).toEqual(errorOf('InvalidInput'))
  expect(await describe(uuid, { id: ['n', 't'] })).toEqual(errorOf('InvalidInput'))
})

it('shows alterations in the description, also after a restart', async () => {
  const { describe, alter, uuid, restart } = await withTransactions()
  const own = { uuid, version: '2', read_version: '1', operation: 'Append' }
  const altered = responseOf({ status: 'Canceled', properties: { ...own, owner: 'ann', __proto__x: '1' } })
  expect(
    await alter([
      { setStatusAction: { status: 'canceled' } },
      { setPropertyAction: { key: 'owner', value: 'bob' } },
      { setPropertyAction: { key: 'owner', value: 'ann', mode: 'OVERWRITE' } },
      { setPropertyAction: { key: 'owner', value: 'cid', mode: 'Skip' }, unsetPropertyAction: null },
      { setPropertyAction: { key: '__proto__x', value: '1', mode: 'fail' } },
      { setPropertyAction: { key: 'gone', value: '1' } },
      { unsetPropertyAction: { key: 'gone', mode: 'Fail' } },
      { unsetPropertyAction: { key: 'gone' } },
    ]),
  ).toEqual(altered)
  await restart()
  expect(await describe('2')).toEqual(altered)
  expect(await describe(uuid)).toEqual(altered)
  expect(await describe('1')).toEqual(
    responseOf({ status: 'Succeeded', properties: expect.not.objectContaining({ owner: 'ann' }) }),
  )
})

it('applies no action if one is invalid', async () => {
  const { describe, alter, post, uuid } = await withTransactions()
  await alter([{ setPropertyAction: { key: 'owner', value: 'ann' } }])
  const before = (await describe(uuid)).json
  const good = { setPropertyAction: { key: 'owner', value: 'bob' } }
  const refused: [unknown, ReturnType<typeof errorOf>][] = [
    [{ setPropertyAction: { key: 'owner', value: 'x', mode: 'Fail' } }, errorOf('ConcurrentModification')],
    [{ unsetPropertyAction: { key: 'none', mode: 'Fail' } }, errorOf('InvalidInput')],
    ...['uuid', 'version', 'read_version', 'operation', 'tag', 'branch'].flatMap(
      (key): [unknown, ReturnType<typeof errorOf>][] => [
        [{ setPropertyAction: { key, value: 'x' } }, errorOf('InvalidInput')],
        [{ unsetPropertyAction: { key } }, errorOf('InvalidInput')],
      ],
    ),
    [{ setStatusAction: { status: 'Lost' } }, errorOf('InvalidInput')],
    [{ setPropertyAction: { key: 'x' } }, errorOf('InvalidInput')],
    [{ ...good, setStatusAction: { status: 'Failed' } }, errorOf('InvalidInput')],
    [{}, errorOf('InvalidInput')],
  ]
  for (const [action, error] of refused) {
    expect(await alter([good, action]), JSON.stringify(action)).toEqual(error)
  }
  expect(await alter([])).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/transaction/n$t$9/alter', { actions: [good] })).toEqual(
    errorOf('TransactionNotFound'),
  )
  expect((await describe(uuid)).json).toEqual(before)
})
