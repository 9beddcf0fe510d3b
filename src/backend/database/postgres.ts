import { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { withTimeout, type Followed, Backoff } from 'catalog-gateway/lib'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { Logger } from 'pino'
import { AdvisoryLocks } from './advisory-locks.ts'
import { databaseUnavailableError, isReadOnlyServer, isRejectedLogin, isConflict } from './postgres-errors.ts'
import {
  migrateDatabase,
  postgresNameType,
  type CatalogDatabase,
  type CatalogTables,
  type OnQuery,
} from './schema.ts'

export interface PostgresOptions {
  /** `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full`; new connections use its current value. */
  readonly url: Followed<string>
  /** A lower-case name; created if missing. */
  readonly schema: string
  /** At least 2: one is reserved for locks. */
  readonly maxConnections: number
  readonly onQuery?: OnQuery | undefined
}

export interface PostgresDatabase {
  readonly database: CatalogDatabase
  readonly locks: AdvisoryLocks
}

const connectTimeoutMs = 10_000
/**
 * How long a server may be silent during a statement, in ms. If its host vanishes, TCP alone tries for 15 minutes. No
 * statement takes so long except those of migrations, which have no timeout.
 */
const defaultSilenceMs = { locks: 15_000, others: 120_000 }
const int8TypeId = 20

/** The server detects a silently lost replica within seconds, which frees its locks and ends its transactions. */
const keepAliveSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/** Migrates the schema; concurrent replicas migrate one after the other. Rejects with an error that hides the URL. */
export async function openPostgres(
  options: PostgresOptions,
  log: Logger,
  silenceMs = defaultSilenceMs,
): Promise<PostgresDatabase> {
  const { url, schema, maxConnections, onQuery } = options
  let lastGood: pg.ClientConfig | undefined
  /** Reads the files that the URL names, such as `sslrootcert`. One that is being replaced keeps the last good ones. */
  const readConfig = (): pg.ClientConfig => {
    try {
      lastGood = parseIntoClientConfig(url.current)
    } catch (error) {
      if (lastGood === undefined) throw error
      log.warn({ err: error }, 'files of the database URL not read; the last ones stay in use')
    }
    return lastGood
  }
  class Client extends pg.Client {
    // The pool also calls this in callbacks, where an error would end the process.
    constructor() {
      super({
        ...readConfig(),
        connectionTimeoutMillis: connectTimeoutMs,
        keepAlive: true,
        application_name: `catalog-gateway ${schema}`,
        types: { getTypeParser },
      })
    }
  }
  const locks = new AdvisoryLocks(
    (onLost) => withCurrentUrl(url, () => connectForLocks(new Client(), onLost, silenceMs.locks)),
    schema,
    silenceMs.locks,
  )
  const pool = new pg.Pool({
    Client,
    connectionTimeoutMillis: connectTimeoutMs,
    max: maxConnections - 1,
    // Not by Kysely, which never gives back a connection that ends during this.
    // oxlint-disable-next-line no-misused-promises -- the pool awaits it, which its type does not say
    onConnect: (client) => client.query(`set search_path to "${schema}"; ${keepAliveSettings}`),
  })
  /** After a failover, all connections may lead to a server that only reads: the next ones are made by the address. */
  let failovers = 0
  const openedAfter = new WeakMap<pg.PoolClient, number>()
  const isStale = (client: pg.PoolClient): boolean => openedAfter.get(client) !== failovers
  const connect = async (): Promise<pg.PoolClient> => {
    const client = await withCurrentUrl(url, () => pool.connect())
    const release = client.release.bind(client)
    client.release = (error) => release(error ?? isStale(client))
    if (!isStale(client)) return client
    client.release()
    return await connect()
  }
  // A broken connection is replaced; the query on it rejects, which informs its caller.
  const logLoss = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  let isMigrated = false
  pool.on('connect', (client) => {
    client.on('error', logLoss)
    openedAfter.set(client, failovers)
    client.connection.on('errorMessage', (error: unknown) => {
      if (!isReadOnlyServer(error) || isStale(client)) return
      failovers += 1
      locks.reset()
    })
    const { stream } = client.connection
    if (!(stream instanceof Socket)) return
    stream.setTimeout(silenceMs.others)
    // As a callback of `setTimeout`, it would be called only once: perhaps during a migration.
    stream.on('timeout', () => {
      if (isMigrated) stream.destroy(new Error('Connection terminated: the server is silent'))
    })
  })
  // The pool repeats errors of idle connections, which are already logged.
  pool.on('error', () => {})
  const database: CatalogDatabase = new Kysely<CatalogTables>({
    dialect: new PostgresDialect({ pool: { connect, end: () => pool.end() } }),
    ...(onQuery && { log: onQuery }),
  })
  try {
    await verifyConnection(connect)
    await migrateDatabase(database, postgresNameType, schema)
    isMigrated = true
  } catch (error) {
    await database.destroy()
    throw error
  }
  return { database: withSerializableTransactions(database, () => locks.assertHeld()), locks }
}

/** Tries once more if the server rejects the login and the URL has changed since. */
async function withCurrentUrl<Connection>(
  url: Followed<string>,
  connect: () => Promise<Connection>,
): Promise<Connection> {
  const used = url.current
  try {
    return await connect()
  } catch (error) {
    if (!isRejectedLogin(error)) throw error
    await url.refresh()
    if (url.current === used) throw error
    return await connect()
  }
}

async function verifyConnection(connect: () => Promise<pg.PoolClient>): Promise<void> {
  try {
    const client = await connect()
    client.release()
  } catch (error) {
    throw new Error('the PostgreSQL database is unreachable', { cause: error })
  }
}

async function connectForLocks(client: pg.Client, onLost: () => void, timeoutMs: number): Promise<pg.Client> {
  // Attached at once: an unhandled error event would end the process.
  client.on('error', onLost)
  client.on('end', onLost)
  try {
    await client.connect()
    await withTimeout(client.query(keepAliveSettings), timeoutMs)
    const role = client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if ((await withTimeout(role, timeoutMs)).rows[0]?.standby) throw databaseUnavailableError()
  } catch (error) {
    // Another one may be opened instead, which is not lost when this one ends.
    client.off('error', onLost).off('end', onLost)
    client.on('error', () => undefined)
    client.end().catch(() => undefined)
    throw error
  }
  return client
}

/** 64-bit numbers are parsed as numbers, as in SQLite: the catalog API has none beyond 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (type: number, format?: 'text' | 'binary') =>
  type === int8TypeId ? Number : pg.types.getTypeParser(type, format)

const maxAttempts = 12
const pauseBounds = { minMs: 2, maxMs: 50 }

/**
 * Makes every transaction serializable, as in SQLite. Conflicting ones are retried a bounded number of times, so their
 * work must have no side effects outside the database. An error of `checkCommit` prevents the commit.
 */
function withSerializableTransactions(database: CatalogDatabase, checkCommit: () => void): CatalogDatabase {
  const begin = database.transaction.bind(database)
  const transaction: CatalogDatabase['transaction'] = () => {
    const builder = begin().setIsolationLevel('serializable')
    const execute = builder.execute.bind(builder)
    const executeWithRetries: typeof execute = (work) =>
      withRetries(() =>
        execute(async (transactionDatabase) => {
          const result = await work(transactionDatabase)
          checkCommit()
          return result
        }),
      )
    return Object.assign(builder, { execute: executeWithRetries })
  }
  return Object.assign(database, { transaction })
}

async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  const pauses = new Backoff(pauseBounds)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error
      // Random pauses keep the same transactions from colliding again.
      await setTimeout(pauses.next())
    }
  }
}
