import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { withTimeout, Backoff } from 'catalog-gateway/lib'
import { type LogConfig, PostgresDialect } from 'kysely'
import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { Logger } from 'pino'
import { type BackendSettings, postgresUrlSchema } from '../settings/backend-settings.ts'
import { openAdvisoryLocks } from './advisory-locks.ts'
import { databaseUnavailableError, isConflict } from './postgres-errors.ts'
import { openTables, type Transact } from './schema.ts'

type PostgresSettings = NonNullable<BackendSettings['store']['postgres']>

const connectTimeoutMs = 10_000
/** How long a server may be silent during a statement, in ms. If its host vanishes, TCP alone tries for 15 minutes. */
const defaultSilenceMs = { locks: 15_000, others: 120_000 }
const int8TypeId = 20
/** Of a transaction that conflicts with others. */
const maxAttempts = 12
const pauseBounds = { minMs: 2, maxMs: 50 }

/** The server detects a silently lost replica within seconds, which frees its locks and ends its transactions. */
const keepAliveSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/**
 * Migrates the schema; concurrent replicas migrate one after the other. Rejects with an error that hides the URL. No
 * connection to a server that only reads is used: after a failover, the address of the primary may still lead to it.
 */
export async function openPostgres(
  settings: PostgresSettings,
  log: Logger,
  queryLog: LogConfig = [],
  silenceMs = defaultSilenceMs,
) {
  const { schema, maxConnections } = settings
  const readConfig = createConfigReader(settings, log)
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
  const locks = openAdvisoryLocks(
    (onLost) => connectForLocks(new Client(), onLost, silenceMs.locks),
    schema,
    silenceMs.locks,
  )
  const pool = new pg.Pool({
    Client,
    connectionTimeoutMillis: connectTimeoutMs,
    max: maxConnections - 1,
    // Not by Kysely, which never gives back a connection that ends during this.
    // oxlint-disable-next-line no-misused-promises -- the pool awaits it, which its type does not say
    onConnect: (client) => prepareConnection(client, `set search_path to "${schema}"; ${keepAliveSettings}`),
  })
  pool.on('connect', (client) => {
    // A broken connection is replaced; the query on it rejects, which informs its caller.
    client.on('error', (error) => log.warn({ err: error }, 'database connection lost'))
    const { stream } = client.connection
    if (!(stream instanceof Socket)) return
    stream.setTimeout(silenceMs.others, () =>
      stream.destroy(new Error('Connection terminated: the server is silent')),
    )
  })
  // The pool repeats errors of idle connections, which are already logged.
  pool.on('error', () => {})
  const client = await pool.connect().catch(async (error: unknown) => {
    await pool.end()
    throw new Error('the PostgreSQL database is unreachable', { cause: error })
  })
  client.release()
  const database = await openTables(new PostgresDialect({ pool }), queryLog, schema)
  const transact: Transact = async (work) => {
    const pauses = new Backoff(pauseBounds)
    for (let attempt = 1; ; attempt += 1) {
      try {
        const transaction = database.transaction().setIsolationLevel('serializable')
        return await transaction.execute(async (begun) => {
          const result = await work(begun)
          locks.assertHeld()
          return result
        })
      } catch (error) {
        if (!isConflict(error) || attempt === maxAttempts) throw error
        // Random pauses keep the same transactions from colliding again.
        await setTimeout(pauses.next())
      }
    }
  }
  const close = async (): Promise<void> => {
    await database.destroy()
    await locks.close()
  }
  return { database, transact, locks, close }
}

/**
 * Returns a function that reads the URL and the files that it names, such as `sslrootcert`, for each connection, so that
 * another user or password takes effect. A file with anything else keeps the last good URL: connections of one process must
 * not be to two databases, and a URL that is cut off may lack `sslmode`. Throws if the first read fails.
 */
export function createConfigReader(
  { url, urlFile }: Pick<PostgresSettings, 'url' | 'urlFile'>,
  log?: Logger,
): () => pg.ClientConfig {
  const read = () => {
    const text = url ?? readFileSync(urlFile ?? '', 'utf8').trim()
    const problem = postgresUrlSchema.safeParse(text).error?.issues[0]
    if (problem !== undefined) throw new Error(`${problem.message}: ${urlFile}`)
    if (/\p{Cc}/u.test(text)) throw new Error(`expected one line without control characters: ${urlFile}`)
    return { server: text.replace(/^([a-z]+:\/\/)[^/?#]*@/, '$1'), config: parseIntoClientConfig(text) }
  }
  let lastGood = read()
  return () => {
    try {
      const found = read()
      if (found.server !== lastGood.server) throw new Error('expected the same URL but for user and password')
      lastGood = found
    } catch (error) {
      log?.warn({ err: error }, 'the URL of the database is not used; the last one stays in use')
    }
    return lastGood.config
  }
}

/** Throws ServiceUnavailable (503) for a standby, or a server that is read-only otherwise. */
async function prepareConnection(client: pg.ClientBase, settings: string): Promise<void> {
  await client.query(settings)
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only')
  if (rows[0]?.transaction_read_only !== 'off') throw databaseUnavailableError()
}

async function connectForLocks(client: pg.Client, onLost: () => void, timeoutMs: number): Promise<pg.Client> {
  // Attached at once: an unhandled error event would end the process.
  client.on('error', onLost).on('end', onLost)
  try {
    await client.connect()
    await withTimeout(prepareConnection(client, keepAliveSettings), timeoutMs)
    return client
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
}

/** 64-bit numbers are parsed as numbers, as in SQLite: the catalog API has none beyond 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (type: number, format?: 'text' | 'binary') =>
  type === int8TypeId ? Number : pg.types.getTypeParser(type, format)
