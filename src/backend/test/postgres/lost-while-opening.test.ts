import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../database/postgres.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

const socketName = '.s.PGSQL.5432'

/** Stands before the server, and closes the next connections when their first statement arrives. */
async function startFront(url: URL) {
  const server = join(url.searchParams.get('host') ?? '', socketName)
  const folder = await temporaryFolder()
  const state = { connectionsToClose: 0 }
  const front = createServer((client) => {
    const upstream = connect(server)
    client.on('data', (bytes) => {
      if (state.connectionsToClose === 0 || !bytes.includes('search_path')) return upstream.write(bytes)
      state.connectionsToClose -= 1
      return client.destroy()
    })
    client.on('close', () => upstream.destroy()).on('error', () => undefined)
    upstream.pipe(client)
    upstream.on('error', () => undefined)
  }).listen(join(folder, socketName))
  await once(front, 'listening')
  onTestFinished(() => void front.close())
  const fronted = new URL(url)
  fronted.searchParams.set('host', folder)
  return { url: fronted.href, state }
}

it('connections that are lost while they are opened leave their places to others', async () => {
  const front = await startFront(new URL(inject('postgresUrl') ?? ''))
  const schema = `lost_while_opening_${process.pid}`
  // One of them is for locks.
  const { database } = await openPostgres(
    { url: front.url, schema, maxConnections: 3 },
    pino({ level: 'silent' }),
  )
  onTestFinished(() => database.destroy())
  const read = async () =>
    (await sql<{ schema: string }>`select current_schema() as schema`.execute(database)).rows
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${`catalog-gateway ${schema}`}`
    .execute(database)
    .catch(() => undefined)
  front.state.connectionsToClose = 4
  while (front.state.connectionsToClose > 0) await Promise.allSettled([read(), read()])
  expect(await Promise.all([read(), read()])).toEqual([[{ schema }], [{ schema }]])
})
