import { join } from 'node:path'
import { makeFolder } from 'catalog-gateway/lib'
import { type LogConfig, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely'
import Libsql from 'libsql'
import type { Logger } from 'pino'
import type { BackendSettings } from '../settings/backend-settings.ts'
import { openPostgres } from './postgres.ts'
import { openTables, type Transact } from './schema.ts'

/** How long opening waits for another process that holds the file. */
const busyTimeoutMs = 1000

/**
 * PostgreSQL, or a SQLite file in its own folder or the data folder; without `locks` this process uses the database alone.
 * Migrates the schema. Rejects with a plain error.
 */
export async function openDatabase(
  { store: { folder, postgres }, data }: Pick<BackendSettings, 'store' | 'data'>,
  log: Logger,
  queryLog: LogConfig = [],
) {
  if (postgres !== undefined) return await openPostgres(postgres, log, queryLog)
  const location = folder ?? data.folder
  if (location === undefined) throw new Error('no folder configured for the store')
  await makeFolder(location)
  const connection = connect(join(location, 'catalog.sqlite'))
  const database = await openTables(new SqliteDialect({ database: connection }), queryLog)
  const transact: Transact = async (work) => await database.transaction().execute(work)
  return { database, transact, locks: undefined, close: () => database.destroy() }
}

/**
 * Creates a missing file. A commit is on disk before it resolves. The file is exclusive to this process: a second process that
 * opens it fails.
 */
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
