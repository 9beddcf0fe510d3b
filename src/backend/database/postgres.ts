import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import { AdvisoryLocks } from './advisory-locks.ts'
import { migrateDatabase } from './migrate.ts'
import { postgresNameType } from './migrations.ts'
import { withSerializableTransactions } from './serializable-transactions.ts'
import type { CatalogDatabase, CatalogTables } from './database-schema.ts'

export interface PostgresOptions {
  /** `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full` */
  readonly url: string
  /** A lower-case name; created if missing. */
  readonly schema: string
  /** At least 2: one is reserved for locks. */
  readonly maxConnections: number
}

export interface PostgresDatabase {
  readonly database: CatalogDatabase
  readonly locks: AdvisoryLocks
}

const connectTimeoutMs = 10_000
const int8TypeId = 20

/** Detects a silently lost peer within seconds, which frees its locks. */
const lockSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/** Migrates the schema; concurrent replicas migrate one after the other. Rejects with an error that hides the URL. */
export async function openPostgres(options: PostgresOptions, log: Logger): Promise<PostgresDatabase> {
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: `catalog-gateway ${options.schema}`,
  }
  const locks = new AdvisoryLocks((onLost) => connectForLocks(connection, onLost), options.schema)
  const pool = new pg.Pool({ ...connection, max: options.maxConnections - 1, types: { getTypeParser } })
  // A broken connection is replaced; the query on it rejects, which informs its caller.
  const logLoss = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  pool.on('connect', (client) => client.on('error', logLoss))
  // The pool repeats errors of idle connections, which are already logged.
  pool.on('error', () => {})
  const database: CatalogDatabase = new Kysely<CatalogTables>({
    dialect: new PostgresDialect({
      pool,
      onCreateConnection: async (created) => {
        await created.executeQuery(CompiledQuery.raw(`set search_path to "${options.schema}"`))
      },
    }),
  })
  try {
    await verifyConnection(pool)
    await migrateDatabase(database, postgresNameType, options.schema)
  } catch (error) {
    await database.destroy()
    throw error
  }
  return { database: withSerializableTransactions(database, () => locks.assertHeld()), locks }
}

async function verifyConnection(pool: pg.Pool): Promise<void> {
  try {
    const client = await pool.connect()
    client.release()
  } catch (error) {
    await pool.end()
    throw new Error('the PostgreSQL database is unreachable', { cause: error })
  }
}

async function connectForLocks(connection: pg.ClientConfig, onLost: () => void): Promise<pg.Client> {
  const client = new pg.Client(connection)
  // Attached at once: an unhandled error event would end the process.
  client.on('error', onLost)
  client.on('end', onLost)
  try {
    await client.connect()
    await client.query(lockSettings)
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
  return client
}

/** 64-bit numbers are parsed as numbers, as in SQLite: the catalog API has none beyond 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (type: number, format?: 'text' | 'binary') =>
  type === int8TypeId ? Number : pg.types.getTypeParser(type, format)
