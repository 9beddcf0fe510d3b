import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

it('connections to a server that has become read-only are thrown away, as after a failover', async () => {
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
  await administrator.query(
    'select pg_terminate_backend(pid, 20000) from pg_stat_activity where datname = $1',
    [database],
  )
  await expect.poll(async () => (await read()).status).toBe(200)
  expect(await post('/v1/namespace/b/create')).toEqual(errorOf('ServiceUnavailable'))
  await Promise.all([read(), read(), read()])
  await setReadOnly(false)
  expect(await read()).toEqual(responseOf({ namespaces: ['a'] }))
  expect(await post('/v1/namespace/b/create')).toEqual(errorOf('ServiceUnavailable'))
  expect((await post('/v1/namespace/b/create')).status, 'all connections are new').toBe(200)
})
