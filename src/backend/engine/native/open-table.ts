import path from 'node:path'
import type { Session } from '@lancedb/lancedb'
import type { LRUCache } from 'lru-cache'
import type { Storage } from '../../storage/storage.ts'
import type { KeyedLock } from '../keyed-lock.ts'
import type { TablePoint } from '../table-point.ts'
import type { NativeConnection, NativeModule, NativeTable } from './native-module.ts'
import { omitMainBranch } from '../manifest/versions-folder.ts'

interface OpenedConnection {
  readonly connection: Promise<NativeConnection>
  readonly options: ReturnType<Storage['engineOptions']>
}

export interface EngineContext {
  readonly native: NativeModule
  readonly storage: Storage
  /** One per folder of tables. */
  readonly connections: LRUCache<string, OpenedConnection>
  readonly session: Session
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
): Promise<NativeTable> {
  const { folder, name } = splitLocation(location)
  const connection = await connect(context, folder)
  const table = await connection.openTable(name, [])
  const branchName = omitMainBranch(branch)
  if (branchName !== undefined) return await (await table.branches()).checkout(branchName, version ?? null)
  if (version !== undefined) await table.checkout(version)
  return table
}

/** Opening a connection writes files into its folder, so one per folder is cached. */
export async function connect(context: EngineContext, folder: string): Promise<NativeConnection> {
  const options = context.storage.engineOptions()
  const cached = context.connections.get(folder)
  if (cached?.options === options) return cached.connection
  const connection = context.native.Connection.new(folder, {
    session: context.session,
    storageOptions: options,
  })
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
