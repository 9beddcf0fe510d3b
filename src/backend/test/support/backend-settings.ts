import { createHash } from 'node:crypto'
import { inject } from 'vitest'
import { backendSettingsSchema, type BackendSettings } from '../../settings/backend-settings.ts'

/** Whether the catalogs of this test run use PostgreSQL. */
export function usesPostgres(): boolean {
  return inject('postgresUrl') !== undefined
}

/**
 * The settings of a bundled catalog in that folder, overridden by `settings`, on the store of this test run; one
 * catalog per folder.
 */
export function backendSettings(folder: string, settings: object = {}): BackendSettings {
  const url = inject('postgresUrl')
  const schema = `catalog_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  return backendSettingsSchema.parse({
    listen: { port: 0 },
    log: { level: 'silent' },
    ...(url !== undefined && { store: { postgres: { url, schema } } }),
    data: { folder },
    ...settings,
  })
}
