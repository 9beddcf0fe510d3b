import { join } from 'node:path'
import { makeFolder } from 'catalog-gateway/lib'
import { Kysely, type LogConfig, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely'
import Libsql from 'libsql'
import type { Logger } from 'pino'
import type { BackendSettings } from '../settings/backend-settings.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { openPostgres } from './postgres.ts'
import { type CatalogDatabase, migrateDatabase, type CatalogTables } from './schema.ts'

export interface OpenedDatabase {
  readonly database: CatalogDatabase
  /** Undefined if this process uses the database alone. */
  readonly locks: AdvisoryLocks | undefined
  readonly close: () => Promise<void>
}

/** PostgreSQL, or a SQLite file in its own folder or the data folder. Rejects with a plain error. */
export async function openDatabase(
  { store: { folder, postgres }, data }: Pick<BackendSettings, 'store' | 'data'>,
  log: Logger,
  queryLog?: LogConfig,
): Promise<OpenedDatabase> {
  if (postgres === undefined) {
    const location = folder ?? data.folder
    if (location === undefined) throw new Error('no folder configured for the store')
    await makeFolder(location)
    const database = await openSqlite(join(location, 'catalog.sqlite'), queryLog)
    return { database, locks: undefined, close: () => database.destroy() }
  }
  return await openPostgres(postgres, log, queryLog)
}

/** How long opening waits for another process that holds the file. */
const busyTimeoutMs = 1000

/**
 * Creates a missing file and migrates its schema. A commit is on disk before it resolves. The file is exclusive to this
 * process: a second process that opens it fails.
 */
async function openSqlite(file: string, queryLog: LogConfig = []): Promise<CatalogDatabase> {
  const connection = connect(file)
  const dialect = new SqliteDialect({ database: connection })
  const database = new Kysely<CatalogTables>({ dialect, log: queryLog })
  try {
    await migrateDatabase(database)
  } catch (error) {
    await database.destroy()
    throw error
  }
  return database
}

function connect(file: string): SqliteDatabase {
  const connection = new Libsql(file)
  try {
    connection.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    connection.exec('pragma locking_mode = exclusive')
    connection.exec('pragma journal_mode = wal')
    connection.exec('pragma synchronous = full')
    connection.exec('pragma foreign_keys = on')
  } catch (error) {
    connection.close()
    throw new Error('the catalog store cannot be opened; does another process use the same data folder?', {
      cause: error,
    })
  }
  return withPreparedStatements(connection)
}

/** The catalog has a fixed set of queries; preparing one takes longer than running it, so each is prepared once. */
function withPreparedStatements(connection: Libsql.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const prepared = statements.get(sql)
      if (prepared !== undefined) return prepared
      const statement = prepare(connection, sql)
      statements.set(sql, statement)
      return statement
    },
    close() {
      statements.clear()
      // Unfinalized statements keep the file open until they are garbage-collected, so release the lock first.
      for (const pragma of ['journal_mode = delete', 'locking_mode = normal', 'user_version']) {
        connection.prepare(`pragma ${pragma}`).all()
      }
      connection.close()
    },
  }
}

/** A full disk ends a transaction by itself; the error of the missing transaction to roll back would hide the cause. */
function prepare(connection: Libsql.Database, sql: string): SqliteStatement {
  const statement = connection.prepare<[readonly unknown[]]>(sql)
  if (sql !== 'rollback') return statement
  const noChanges = { changes: 0, lastInsertRowid: 0 }
  return {
    reader: false,
    all: () => [],
    iterate: () => [].values(),
    run: (parameters) => (connection.inTransaction ? statement.run(parameters) : noChanges),
  }
}
