import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { backendSettingsSchema } from '../config/backend/backend-settings.ts'
import { resolveAddressFiles } from '../config/upstream/catalog-address-settings.ts'
import { ignoreOtherSignals } from '../lib/process/signals.ts'
import { readSettings } from '../config/loading/read-settings.ts'
import { isCatalogProcess, runCatalogProcess } from './common/catalog-process.ts'
import { runStep } from './common/command-failure.ts'
import { newCommand } from './common/new-command.ts'
import { runUntilStopped } from './common/run-until-stopped.ts'

/** Active requests get 20 seconds; work that the engine never ends must not block the exit. */
const closingMs = 25_000

export function backendCommand(): Command {
  return newCommand('backend')
    .description('run the reference catalog on its own, or serve a remote catalog')
    .requiredOption(
      '--config <file>',
      'settings file (YAML); environment variables (CATALOG_GATEWAY__...) override it',
    )
    .action(async ({ config }: { config: string }) => {
      ignoreOtherSignals()
      const settings = await runStep(`the settings in ${config} cannot be used`, async () =>
        readSettings(backendSettingsSchema, {
          file: config,
          text: await readFile(config, 'utf8'),
          environment: process.env,
        }),
      )
      if (settings.catalog.remote === undefined && !isCatalogProcess()) {
        return await runCatalogProcess(['--config', config])
      }
      const folder = dirname(config)
      const absolute = (path: string | undefined): string | undefined => path && resolve(folder, path)
      const data = settings.data && { ...settings.data, folder: absolute(settings.data.folder) }
      const { remote } = settings.catalog
      const { postgres } = settings.store
      const store = {
        folder: absolute(settings.store.folder),
        postgres: postgres && { ...postgres, urlFile: absolute(postgres.urlFile) },
      }
      // Imported here, so that no other command and no gateway loads the engine.
      const { startBackend } = await import('../backend/server.ts')
      const backend = await runStep('the catalog cannot start', () =>
        startBackend({
          ...settings,
          accessTokenFiles: settings.accessTokenFiles?.map((file) => resolve(folder, file)),
          data,
          store,
          catalog: { remote: remote && resolveAddressFiles(remote, (path) => resolve(folder, path)) },
        }),
      )
      const close = async (): Promise<void> => {
        setTimeout(() => process.kill(process.pid, 'SIGKILL'), closingMs).unref()
        await backend.close()
      }
      await runUntilStopped({
        close,
        announcement: `listening on ${backend.url}\n`,
        reload: ignoreReload,
      })
    })
}

async function ignoreReload(): Promise<void> {
  process.stderr.write('SIGHUP ignored: changed settings require a restart\n')
}
