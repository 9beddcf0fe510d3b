import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'
import { endConnections } from './end-connections.ts'

it('no connection to a server that only reads is used, as after a failover', async () => {
  const url = new URL(inject('postgresUrl') ?? '')
  const administrator = new pg.Client(url.href)
  await administrator.connect()
  onTestFinished(() => administrator.end())
  const database = `failover_${process.pid}`
  await administrator.query(`create database ${database}`)
  url.pathname = `/${database}`
  const { post, get } = await runningBackend({ store: { postgres: { url: url.href } } })
  expect((await post('/v1/namespace/a/create')).status).toBe(200)
  /** Applies to new connections only, which the catalog then makes. */
  const setReadOnly = async (isReadOnly: boolean) =>
    administrator.query(`alter database ${database} set default_transaction_read_only = ${isReadOnly}`)
  const read = () => get('/v1/namespace/$/list')
  await setReadOnly(true)
  await endConnections(administrator, 'datname', database)
  expect(await read()).toEqual(errorOf('ServiceUnavailable'))
  expect(await post('/v1/table/t/create', streamOf(orders(1)))).toEqual(errorOf('ServiceUnavailable'))
  await setReadOnly(false)
  expect(await read()).toEqual(responseOf({ namespaces: ['a'] }))
  expect((await post('/v1/namespace/b/create')).status).toBe(200)
})
