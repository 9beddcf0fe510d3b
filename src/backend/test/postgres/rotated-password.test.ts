import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import type { BackendSettings } from '../../settings/backend-settings.ts'
import { openDatabase } from '../../database/open-database.ts'
import { createFileFollower, type ReportReload, reloadFiles } from '../../../lib/fs/follow-files.ts'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'
import { endConnections } from './end-connections.ts'

let roles = 0

/** Creates a role that needs its password, and a file with its URL. */
async function createRole() {
  const name = `rotated_${process.pid}_${roles++}`
  const administrator = new pg.Client(inject('postgresUrl'))
  await administrator.connect()
  onTestFinished(() => administrator.end())
  await administrator.query(`create role ${name} login password 'first'`)
  await administrator.query(`grant create on database postgres to ${name}`)
  const urlFile = join(await temporaryFolder(), 'url')
  const getUrl = (password: string): string => {
    const url = new URL(inject('postgresUrl') ?? '')
    return Object.assign(url, { username: name, password }).href
  }
  await writeFile(urlFile, getUrl('first'))
  return {
    name,
    store: { postgres: { urlFile, schema: name, maxConnections: 10 } },
    getUrl,
    write: (content: string) => writeFile(urlFile, content),
    changePassword: (password: string) => administrator.query(`alter role ${name} password '${password}'`),
    countConnections: async () => {
      const { rowCount } = await administrator.query('select 1 from pg_stat_activity where usename = $1', [
        name,
      ])
      return rowCount
    },
    administer: (statement: string) => administrator.query(statement),
    /** Ends all connections of the role, that for locks included. */
    cutOff: () => endConnections(administrator, 'usename', name),
  }
}

async function openStore(store: BackendSettings['store'], report: ReportReload = () => undefined) {
  const files = createFileFollower(report)
  onTestFinished(() => files.close())
  const opened = await openDatabase(store, undefined, pino({ level: 'silent' }), files.follow)
  onTestFinished(opened.close)
  return opened
}

it('a password that is changed in PostgreSQL and in the file fails no call', async () => {
  const { store, getUrl, write, changePassword, countConnections } = await createRole()
  const { database, locks } = await openStore(store)
  await sql`select 1`.execute(database)
  await changePassword('second')
  await sql`select 1`.execute(database)
  await write(getUrl('second'))
  // More users than connections, which keep all connections until each has been opened.
  const { maxConnections } = store.postgres
  const allOpened = createDeferred()
  let users = 0
  const use = () =>
    database.connection().execute(async (connection) => {
      await sql`select 1`.execute(connection)
      users += 1
      if (users === maxConnections - 1) allOpened.resolve(undefined)
      await allOpened.promise
    })
  await Promise.all([
    ...Array.from({ length: 2 * maxConnections }, use),
    locks?.run('any', 'exclusive', async () => {}),
  ]).finally(() => allOpened.resolve(undefined))
  expect(await countConnections()).toBe(maxConnections)
})

it('a password that PostgreSQL rejects is 503 until the file has another', async () => {
  const { store, getUrl, write, changePassword, cutOff } = await createRole()
  const { post } = await runningBackend({ store })
  await changePassword('second')
  await eventually(async () => {
    // Again, as a connection that was being opened with the first password stays.
    await cutOff()
    expect(await post('/v1/namespace/a/create')).toEqual(errorOf('ServiceUnavailable'))
  })
  await write(getUrl('second'))
  // The first one may exist: connections do not end at once.
  await eventually(async () => expect((await post('/v1/namespace/b/create')).status).toBe(200))
})

it('two roles of one owner take turns in the file', async () => {
  const [owner, one, other] = [await createRole(), await createRole(), await createRole()]
  for (const { name } of [one, other]) {
    await one.administer(`grant ${owner.name} to ${name}`)
    await one.administer(`alter role ${name} set role ${owner.name}`)
  }
  const { post } = await runningBackend({ store: one.store })
  for (const [index, { name, getUrl, cutOff }] of [other, one, other].entries()) {
    const last = name === one.name ? other : one
    await one.administer(`alter role ${name} login password 'password${index}'`)
    await one.write(getUrl(`password${index}`))
    await one.administer(`alter role ${last.name} nologin`)
    await last.cutOff()
    await eventually(async () => expect((await post(`/v1/namespace/a${index}/create`)).status).toBe(200))
    await cutOff()
  }
})

it('a missing file that the URL names does not end the process, and keeps the last one', async () => {
  const { store, getUrl, write, cutOff } = await createRole()
  const authority = join(await temporaryFolder(), 'ca.pem')
  await writeFile(authority, '')
  await write(`${getUrl('first')}&sslmode=disable&sslrootcert=${encodeURIComponent(authority)}`)
  const { database } = await openStore(store)
  await rm(authority)
  const queries = Promise.allSettled(
    Array.from({ length: 20 }, () => sql`select pg_sleep(0.2)`.execute(database)),
  )
  // The pool replaces the connections in callbacks.
  await setTimeout(50)
  await cutOff()
  await queries
  await eventually(() => sql`select 1`.execute(database))
})

it('a file with anything else than another user or password keeps the last good URL', async () => {
  const { store, getUrl, write, changePassword, cutOff } = await createRole()
  const complete = `${getUrl('first')}&sslmode=disable`
  await write(complete)
  const reports: string[] = []
  const { database } = await openStore(store, (setting, cause) => {
    reports.push(cause === undefined ? setting : `${setting} ${String(cause)}`)
  })
  const cutOffUrls = Array.from({ length: complete.length }, (_, length) => complete.slice(0, length))
  const others = [
    complete.replace('localhost', 'other'),
    complete.replace('/postgres?', '/other?'),
    complete.replace('sslmode=disable', 'sslmode=require'),
    `${complete}\n${complete}`,
  ]
  for (const content of [...cutOffUrls, ...others]) {
    await write(content)
    reports.length = 0
    await reloadFiles()
    // A poll may have begun at the same time, also while the file was still empty: it reports first.
    expect(reports.length, content).toBeGreaterThan(0)
    for (const report of reports) expect(report).toMatch(/^store\.postgres\.urlFile Error: expected /)
    expect(reports.join()).not.toContain('first')
  }
  await cutOff()
  await eventually(() => sql`select 1`.execute(database))

  await changePassword('second')
  await write(complete.replace('first', 'second'))
  reports.length = 0
  await reloadFiles()
  expect(reports).toContain('store.postgres.urlFile')
  await cutOff()
  await eventually(() => sql`select 1`.execute(database))
})
