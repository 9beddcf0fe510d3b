import { sql } from 'kysely'
import type { Logger } from 'pino'
import { CatalogError, type OperationName } from 'catalog-gateway/catalog-api'
import type { Outbound } from 'catalog-gateway/outbound'
import { catalogOperations } from './catalog/catalog-operations.ts'
import type { CatalogContext } from './catalog/context.ts'
import { markFileName, openCatalogContext } from './catalog/open-context.ts'
import type { CatalogCall } from './catalog/operations.ts'
import { openEngine } from './engine/lancedb-engine.ts'
import { openManifestStore } from './engine/manifest/manifest-store.ts'
import type { Metrics } from './metrics.ts'
import type { BackendSettings } from './settings/backend-settings.ts'
import { openStorage } from './storage/open-storage.ts'

/** Executes checked requests. Does not depend on HTTP or routes. */
export interface Catalog {
  /** Resolves with JSON members, the chunks of Arrow IPC data, or nothing. Throws CatalogError. */
  execute<Name extends OperationName>(name: Name, call: CatalogCall<Name>): Promise<unknown>
  /** Rejects if requests cannot be served now. */
  checkReady(): Promise<void>
  /** Releases all resources after the active requests have ended. */
  close(): Promise<void>
}

/** Repairs the effects of a crash while it serves requests. Rejects if the storage or the database cannot be used. */
export async function openCatalog(
  settings: BackendSettings,
  log: Logger,
  outbound: Outbound,
  metrics: Metrics,
): Promise<Catalog> {
  const opened = await openStorage(settings.data, outbound)
  const storage = metrics.observeStorage(opened.storage)
  const engine = openEngine({ storage, decodedUploadBytes: 8 * settings.limits.maxUploadBytes })
  const close = async (): Promise<void> => {
    await engine.close()
    opened.close()
  }
  let context: CatalogContext
  try {
    const manifests = openManifestStore(storage)
    const measured = { ...opened, storage }
    context = await openCatalogContext(settings, measured, engine, manifests, log, metrics.observeQuery)
    metrics.observeCatalog(context)
  } catch (error) {
    await close()
    throw error
  }
  return {
    async execute(name, call) {
      const operation = catalogOperations[name]
      if (operation === undefined)
        throw new CatalogError('Unsupported', `this catalog does not support the operation ${name}`)
      return await operation(context, call)
    },
    async checkReady() {
      await sql`select 1`.execute(context.database)
      if ((await storage.stat(`${context.root}/${markFileName}`)) === undefined)
        throw new CatalogError('ServiceUnavailable', 'the storage of the tables is not there')
    },
    async close() {
      await context.close()
      await close()
    },
  }
}
