import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { backendSettingsSchema } from './settings/backend-settings.ts'
import {
  isCatalogProcess,
  readSettings,
  runCatalogProcess,
  runStep,
  runUntilStopped,
  type Io,
} from 'catalog-gateway/commands'
import { ignoreOtherSignals } from 'catalog-gateway/lib'

/** Active requests get 20 seconds; work that the engine never ends must not block the exit. */
const closingMs = 25_000

/**
 * Runs the catalog with the settings in that file until it is stopped, in a process of its own, whose memory stays small.
 * Throws CommandFailure.
 */
export async function runBackend(config: string, io: Io): Promise<void> {
  ignoreOtherSignals()
  const settings = await runStep(`the settings in ${config} cannot be used`, async () =>
    readSettings(backendSettingsSchema, {
      file: config,
      text: await readFile(config, 'utf8'),
      environment: io.environment,
    }),
  )
  if (!isCatalogProcess()) return await runCatalogProcess(['--config', config], io)
  const folder = dirname(config)
  const absolute = (path: string | undefined): string | undefined => path && resolve(folder, path)
  const { postgres } = settings.store
  const store = {
    folder: absolute(settings.store.folder),
    postgres: postgres && { ...postgres, urlFile: absolute(postgres.urlFile) },
  }
  // Imported here, so that the engine is loaded only in that process.
  const { startBackend } = await import('./server.ts')
  const backend = await runStep('the catalog cannot start', () =>
    startBackend({
      ...settings,
      accessTokenFiles: settings.accessTokenFiles?.map((file) => resolve(folder, file)),
      data: { ...settings.data, folder: absolute(settings.data.folder) },
      store,
    }),
  )
  const close = async (): Promise<void> => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), closingMs).unref()
    await backend.close()
  }
  await runUntilStopped(io, {
    close,
    announcement: `listening on ${backend.url}\n`,
    reload: async () => {
      io.stderr.write('SIGHUP ignored: changed settings require a restart\n')
    },
  })
}
