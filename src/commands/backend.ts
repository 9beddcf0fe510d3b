import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { backendSettingsSchema } from '../backend/configuration.ts'
import { readSettings } from '../settings.ts'
import { attempt } from './failure.ts'
import { newCommand } from './new-command.ts'
import { untilStopped } from './until-stopped.ts'

/** `catalog-gateway backend --config FILE`: the reference catalog alone, without a gateway. */
export function backendCommand(): Command {
  return newCommand('backend')
    .description('run the reference catalog alone')
    .requiredOption(
      '--config <file>',
      'settings in YAML; the environment wins over them (CATALOG_GATEWAY__...)',
    )
    .action(async ({ config }: { config: string }) => {
      const settings = await attempt(`the settings in ${config} cannot be used`, async () =>
        readSettings(backendSettingsSchema, {
          file: config,
          text: await readFile(config, 'utf8'),
          environment: process.env,
        }),
      )
      const folder = dirname(config)
      const data = { ...settings.data, folder: resolve(folder, settings.data.folder) }
      const { postgres } = settings.store
      const store =
        postgres?.urlFile === undefined
          ? settings.store
          : { postgres: { ...postgres, urlFile: resolve(folder, postgres.urlFile) } }
      // Loaded here, so that no other command, and no gateway, carries the engine in its memory.
      const { startBackend } = await import('../backend/server.ts')
      const backend = await attempt('the catalog cannot start', () =>
        startBackend({ ...settings, data, store }),
      )
      process.stdout.write(`listening on ${backend.url}\n`)
      await untilStopped(backend.close)
    })
}
