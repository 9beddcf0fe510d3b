import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { findPostgres } from './find-postgres.ts'

declare module 'vitest' {
  // Typed access to the values that vitest provides.
  interface ProvidedContext {
    /** The PostgreSQL server of the tests; absent if they use SQLite. */
    postgresUrl?: string
  }
}

const run = promisify(execFile)
const startupMs = 60_000
/** The data need not survive the tests. */
const settings = ['fsync=off', 'full_page_writes=off', 'listen_addresses=', 'max_connections=300']

/** Other roles than the owner need a password. */
const logins = 'local all postgres trust\nlocal all all scram-sha-256\n'

interface Owner {
  readonly uid: number
  readonly gid: number
}

let stop = async (): Promise<void> => {}

/** Starts a PostgreSQL server for this run, on a socket in a temporary folder, and provides its URL to the tests. */
export async function setup(project: TestProject): Promise<void> {
  const programs = findPostgres()
  if (programs === undefined) throw new Error('there is no PostgreSQL on this machine')
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const owner = process.getuid?.() === 0 ? await findUser() : undefined
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  await initialize(join(programs, 'initdb'), data, owner)
  await writeFile(join(data, 'pg_hba.conf'), logins)
  const options = ['-D', data, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])]
  const server = spawn(join(programs, 'postgres'), options, { cwd: folder, stdio: 'ignore', ...owner })
  stop = async () => {
    // Ends at once, without waiting for clients.
    server.kill('SIGQUIT')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  const url = `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`
  await untilReady(url)
  project.provide('postgresUrl', url)
}

export async function teardown(): Promise<void> {
  await stop()
}

/** The server refuses to run as root. */
async function findUser(): Promise<Owner> {
  for (const name of ['postgres', 'nobody']) {
    const ids = [run('id', ['-u', name]), run('id', ['-g', name])]
    const [uid, gid] = await Promise.all(ids).then(
      (responses) => responses.map(({ stdout }) => Number(stdout)),
      () => [],
    )
    if (uid !== undefined && gid !== undefined) return { uid, gid }
  }
  throw new Error('this is root, and there is no user postgres or nobody for PostgreSQL to run as')
}

/** Uses a language's collation if possible, to detect queries that rely on another one. */
async function initialize(program: string, data: string, owner: Owner | undefined): Promise<void> {
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  const location = { cwd: tmpdir(), ...owner }
  try {
    await run(program, [...options, '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en'], location)
  } catch {
    await rm(data, { recursive: true, force: true })
    await run(program, [...options, '--no-locale'], location)
  }
}

async function untilReady(url: string): Promise<void> {
  for (const end = Date.now() + startupMs; ;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > end) throw error
      await setTimeout(50)
    }
  }
}
