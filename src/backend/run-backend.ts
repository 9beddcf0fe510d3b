import { readFile } from 'node:fs/promises'
import { openAccessTokens } from './http/access-tokens.ts'
import { backendSettingsSchema, type BackendSettings } from './settings/backend-settings.ts'
import {
  CommandFailure,
  ignoreOtherSignals,
  isCatalogProcess,
  runCatalogProcess,
  runStep,
  runUntilStopped,
  type Io,
} from 'catalog-gateway/commands'
import { readSettings } from 'catalog-gateway/settings'
import { readOnce, toError } from 'catalog-gateway/lib'
import { openOutbound } from 'catalog-gateway/outbound'

/** Active requests get 20 seconds; work that the engine never ends must not block the exit. */
const closingMs = 25_000

/**
 * Runs the catalog with the settings in that file until it is stopped, in a process of its own, whose memory stays small.
 * Throws CommandFailure.
 */
export async function runBackend(config: string, io: Io): Promise<void> {
  ignoreOtherSignals()
  const settings = await readBackendSettings(config, io)
  if (!isCatalogProcess()) return await runCatalogProcess(['--config', config], io)
  // Imported here, so that the engine is loaded only in that process.
  const { startBackend } = await import('./server.ts')
  const backend = await runStep('the catalog cannot start', () => startBackend(settings))
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

/**
 * Reads the settings in that file and every file that they name, without a connection and without a change of anything.
 * Throws CommandFailure with all mistakes, not just the first.
 */
export async function checkBackend(config: string, io: Io): Promise<void> {
  const settings = await readBackendSettings(config, io)
  const { postgres } = settings.store
  const failures: string[] = []
  const check = async (failure: string, step: () => Promise<unknown>): Promise<void> => {
    await runStep(failure, step).catch((error: unknown) => failures.push(toError(error).message))
  }
  await check('the settings of `outbound` cannot be used', () =>
    openOutbound(settings.outbound, io.environment, readOnce),
  )
  await check('the access tokens cannot be used', () => openAccessTokens(settings, readOnce))
  if (postgres)
    await check('the URL of the database cannot be used', async () => {
      // Imported here, so that the drivers are loaded only where they are used.
      const { createConfigReader } = await import('./database/postgres.ts')
      createConfigReader(postgres)
    })
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
  io.stdout.write(`${config}: the settings and their files can be used\n`)
}

async function readBackendSettings(config: string, io: Io): Promise<BackendSettings> {
  return await runStep(`the settings in ${config} cannot be used`, async () =>
    readSettings(backendSettingsSchema, {
      file: config,
      text: await readFile(config, 'utf8'),
      environment: io.environment,
    }),
  )
}
