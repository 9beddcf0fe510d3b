import { createHash } from 'node:crypto'
import { inject } from 'vitest'
import { backendSettingsSchema, type EmbeddedSettings } from '../../settings/backend-settings.ts'

/** Whether the catalogs of this test run use PostgreSQL. */
export function usesPostgres(): boolean {
  return inject('postgresUrl') !== undefined
}

/**
 * The settings of a bundled catalog in that folder, overridden by `settings`, on the store of this test run; one
 * catalog per folder.
 */
export function backendSettings(folder: string, settings: object = {}): EmbeddedSettings {
  const url = inject('postgresUrl')
  const schema = `catalog_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const { data, ...others } = backendSettingsSchema.parse({
    listen: { port: 0 },
    log: { level: 'silent' },
    ...(url !== undefined && { store: { postgres: { url, schema } } }),
    data: { folder },
    ...settings,
  })
  if (data === undefined) throw new Error('these are not the settings of an embedded catalog')
  return { ...others, data }
}
