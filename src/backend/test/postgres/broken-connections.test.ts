import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../database/postgres.ts'
import { toPostgresCatalogError } from '../../database/postgres-errors.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

const socketName = '.s.PGSQL.5432'

/**
 * Opens a store through a proxy that can swallow all bytes, as a network does when the host of the server vanishes, and
 * close the next connections when their first statement arrives.
 */
async function openBehindProxy(name: string, maxConnections: number) {
  const url = new URL(inject('postgresUrl') ?? '')
  const server = join(url.searchParams.get('host') ?? '', socketName)
  const folder = await temporaryFolder()
  const network = { isCut: false, connectionsToClose: 0 }
  const proxy = createServer((client) => {
    const upstream = connect(server)
    client.on('data', (bytes) => {
      if (network.isCut) return
      if (network.connectionsToClose > 0 && bytes.includes('search_path')) {
        network.connectionsToClose -= 1
        client.destroy()
      } else upstream.write(bytes)
    })
    upstream.on('data', (bytes) => !network.isCut && client.write(bytes))
    client.on('close', () => upstream.destroy()).on('error', () => undefined)
    upstream.on('error', () => undefined)
  }).listen(join(folder, socketName))
  await once(proxy, 'listening')
  url.searchParams.set('host', folder)
  const schema = `${name}_${process.pid}`
  const silenceMs = { locks: 1_000, others: 1_000 }
  const log = pino({ level: 'silent' })
  const settings = { url: url.href, schema, maxConnections }
  const { database, locks, close } = await openPostgres(settings, log, undefined, silenceMs)
  onTestFinished(async () => {
    await close()
    proxy.close()
  })
  const read = async () =>
    (await sql<{ schema: string }>`select current_schema() as schema`.execute(database)).rows
  return { database, locks, network, schema, read }
}

const unavailable = expect.objectContaining({ kind: 'ServiceUnavailable' }) as Error

it('statements fail when the host of the database vanishes, and succeed once it is back', async () => {
  const { network, schema, read } = await openBehindProxy('silent_host', 2)
  expect(await read()).toEqual([{ schema }])
  network.isCut = true
  const error: unknown = await read().catch((failure: unknown) => failure)
  expect(toPostgresCatalogError(error)).toEqual(unavailable)
  network.isCut = false
  expect(await read()).toEqual([{ schema }])
})

it('locks are lost when the host of the database vanishes, and can be taken once it is back', async () => {
  const { locks, network } = await openBehindProxy('silent_host', 2)
  await locks.run('a', async () => {
    network.isCut = true
    await expect(locks.run('b', async () => {})).rejects.toEqual(unavailable)
    expect(() => locks.assertHeld()).toThrow(unavailable)
  })
  network.isCut = false
  expect(await locks.run('a', async () => 'held')).toBe('held')
})

it('connections that are lost while they are opened leave their places to others', async () => {
  // One of them is for locks.
  const { database, network, schema, read } = await openBehindProxy('lost_while_opening', 3)
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${`catalog-gateway ${schema}`}`
    .execute(database)
    .catch(() => undefined)
  network.connectionsToClose = 4
  while (network.connectionsToClose > 0) await Promise.allSettled([read(), read()])
  expect(await Promise.all([read(), read()])).toEqual([[{ schema }], [{ schema }]])
})
