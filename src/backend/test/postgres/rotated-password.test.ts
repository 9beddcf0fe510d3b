import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createConfigReader } from '../../database/postgres.ts'
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
    administer: (statement: string) => administrator.query(statement),
    /** Ends all connections of the role, that for locks included. */
    cutOff: () => endConnections(administrator, 'usename', name),
  }
}

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

it('a URL with anything else than another user or password, or of files that are missing, is not used', async () => {
  const { getUrl, name } = await createRole()
  const folder = await temporaryFolder()
  const [urlFile, authority] = [join(folder, 'url'), join(folder, 'ca.pem')]
  const write = (content: string) => writeFile(urlFile, content)
  const complete = `${getUrl('first')}&sslmode=disable&sslrootcert=${encodeURIComponent(authority)}`
  await writeFile(authority, '')
  await write(complete)
  const readConfig = createConfigReader({ urlFile }, pino({ level: 'silent' }))
  const isFirst = { user: name, password: 'first' }
  const others = [
    ...Array.from({ length: complete.length }, (_, length) => complete.slice(0, length)),
    complete.replace('localhost', 'other'),
    complete.replace('/postgres?', '/other?'),
    complete.replace('sslmode=disable', 'sslmode=require'),
    `${complete}\n${complete}`,
  ]
  for (const content of others) {
    await write(content)
    expect(readConfig(), content).toMatchObject(isFirst)
  }
  await rm(authority)
  await write(complete.replace('first', 'second'))
  expect(readConfig()).toMatchObject(isFirst)
  await writeFile(authority, '')
  expect(readConfig()).toMatchObject({ ...isFirst, password: 'second' })
  await rm(urlFile)
  expect(readConfig()).toMatchObject({ ...isFirst, password: 'second' })
  expect(() => createConfigReader({ urlFile })).toThrow('ENOENT')
})
