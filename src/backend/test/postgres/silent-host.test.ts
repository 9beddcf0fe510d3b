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

/** Opens a store through a proxy that can swallow all bytes, as a network does when the host of the server vanishes. */
async function openBehindProxy() {
  const url = new URL(inject('postgresUrl') ?? '')
  const server = join(url.searchParams.get('host') ?? '', socketName)
  const folder = await temporaryFolder()
  const network = { isCut: false }
  const proxy = createServer((client) => {
    const upstream = connect(server)
    client.on('data', (bytes) => !network.isCut && upstream.write(bytes))
    upstream.on('data', (bytes) => !network.isCut && client.write(bytes))
    client.on('close', () => upstream.destroy()).on('error', () => undefined)
    upstream.on('error', () => undefined)
  }).listen(join(folder, socketName))
  await once(proxy, 'listening')
  url.searchParams.set('host', folder)
  const options = { url: url.href, schema: `silent_host_${process.pid}`, maxConnections: 2 }
  const log = pino({ level: 'silent' })
  const { database, locks } = await openPostgres(options, log, undefined, { locks: 1_000, others: 1_000 })
  onTestFinished(async () => {
    await database.destroy()
    await locks.close()
    proxy.close()
  })
  return { database, locks, network }
}

const unavailable = expect.objectContaining({ kind: 'ServiceUnavailable' }) as Error

it('statements fail when the host of the database vanishes, and succeed once it is back', async () => {
  const { database, network } = await openBehindProxy()
  const read = async () => (await sql`select 1 as one`.execute(database)).rows
  expect(await read()).toEqual([{ one: 1 }])
  network.isCut = true
  const error: unknown = await read().catch((failure: unknown) => failure)
  expect(toPostgresCatalogError(error)).toEqual(unavailable)
  network.isCut = false
  expect(await read()).toEqual([{ one: 1 }])
})

it('locks are lost when the host of the database vanishes, and can be taken once it is back', async () => {
  const { locks, network } = await openBehindProxy()
  await locks.run('a', async () => {
    network.isCut = true
    await expect(locks.run('b', async () => {})).rejects.toEqual(unavailable)
    expect(() => locks.assertHeld()).toThrow(unavailable)
  })
  network.isCut = false
  expect(await locks.run('a', async () => 'held')).toBe('held')
})
