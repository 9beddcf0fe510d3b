import { createHash } from 'node:crypto'
import { inject } from 'vitest'
import { backendSettingsSchema, type BackendSettings } from '../../src/backend/configuration.ts'

/** Whether these tests run with the catalog on PostgreSQL. */
export function usesPostgres(): boolean {
  return inject('postgresUrl') !== undefined
}

/** The settings of a reference catalog in that folder, on the store of these tests; one folder, one catalog. */
export function backendSettings(folder: string, settings: object = {}): BackendSettings {
  const url = inject('postgresUrl')
  const schema = `catalog_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  return backendSettingsSchema.parse({
    listen: { port: 0 },
    log: { level: 'silent' },
    ...(url !== undefined && { store: { postgres: { url, schema } } }),
    ...settings,
    data: { folder },
  })
}
