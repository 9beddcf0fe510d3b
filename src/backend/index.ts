import type * as Client from '@lancedb/lancedb'

export { runBackend } from './run-backend.ts'

/** Loads the client library that comes with the engine. */
export async function importClient(): Promise<typeof Client> {
  return await import('@lancedb/lancedb')
}
