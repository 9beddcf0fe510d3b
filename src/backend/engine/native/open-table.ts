import path from 'node:path'
import type * as native from '@lancedb/lancedb/native'
import type { LRUCache } from 'lru-cache'
import type { Storage } from '../../storage/storage.ts'
import type { KeyedLock } from '../keyed-lock.ts'
import { omitMainBranch } from '../manifest/manifest.ts'
import { toEngineCatalogError } from './native-errors.ts'
import { Connection } from './native-module.ts'

/** An absent, empty or `main` branch is the main branch. Without a version: the newest one, the only writable one. */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

export type VersionPoint = TablePoint & { readonly version: number }

export interface EngineContext {
  readonly storage: Storage
  /** One per folder of tables; `options` are those that it was opened with. */
  readonly connections: LRUCache<
    string,
    {
      readonly connection: Promise<native.Connection>
      readonly options: ReturnType<Storage['engineOptions']>
    }
  >
  readonly session: native.Session
  readonly decodedUploadBytes: number
  /**
   * By location. The engine retries conflicting writes with a backoff that doubles with each conflict: without a limit, a
   * write that loses to many others waits for up to a minute after all of them have ended.
   */
  readonly appends: KeyedLock
  /** By location; see `changeTable`. */
  readonly changes: KeyedLock
}

/** Opens a table at a point of its history; writable only if the point has no version. */
export async function openTable(
  context: EngineContext,
  { location, branch, version }: TablePoint,
): Promise<native.Table> {
  const { folder, name } = splitLocation(location)
  const connection = await connect(context, folder)
  const table = await connection.openTable(name, [])
  const branchName = omitMainBranch(branch)
  if (branchName !== undefined) return await (await table.branches()).checkout(branchName, version ?? null)
  if (version !== undefined) await table.checkout(version)
  return table
}

/** Opening a connection writes files into its folder, so one per folder is cached. */
export async function connect(context: EngineContext, folder: string): Promise<native.Connection> {
  const options = context.storage.engineOptions()
  const cached = context.connections.get(folder)
  if (cached?.options === options) return cached.connection
  const connection = Connection.new(folder, { session: context.session, storageOptions: options })
  const opened = { connection, options }
  context.connections.set(folder, opened)
  connection.catch(() => {
    if (context.connections.peek(folder) === opened) context.connections.delete(folder)
  })
  return connection
}

/** Splits a location into the folder and the name of a table; the engine appends the extension itself. */
export function splitLocation(location: string): { location: string; folder: string; name: string } {
  const isAbsolute = path.isAbsolute(location) || location.startsWith('s3://')
  if (!isAbsolute || !location.endsWith('.lance')) throw new Error(`not the location of a table: ${location}`)
  const { dir, name } = path.posix.parse(location)
  return { location, folder: dir, name }
}

const maxAttempts = 5

/**
 * Changes a table, one change at a time. Concurrent changes mostly conflict, and the engine repeats all work of one that
 * has lost, so that a long change would lose to every stream of short ones.
 */
export async function changeTable<Result>(
  context: EngineContext,
  point: TablePoint,
  change: (table: native.Table) => Promise<Result>,
): Promise<Result> {
  return await context.changes.runExclusive(point.location, () =>
    retryConflicts(async () => change(await openTable(context, point))),
  )
}

/** Retries a write that lost to a concurrent one, which has written nothing. `write` must open the table itself. */
export async function retryConflicts<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const isConflict = toEngineCatalogError(error)?.kind === 'ConcurrentModification'
      if (!isConflict || attempt === maxAttempts) throw error
    }
  }
}
