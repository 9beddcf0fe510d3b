import cluster from 'node:cluster'
import type { Command } from 'commander'
import { readGatewaySettings, type GatewaySettings } from '../config/gateway-settings.ts'
import type { RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { ignoreOtherSignals } from '../lib/process/signals.ts'
import { countAvailableCores } from '../workers/available-cores.ts'
import { assertNoDevelopmentFiles } from './dev/development-files.ts'
import { formatExample } from './common/format-example.ts'
import { runStep, CommandFailure } from './common/command-failure.ts'
import type { Io } from './common/io.ts'
import { newCommand } from './common/new-command.ts'
import { runUntilStopped } from './common/run-until-stopped.ts'

export function serveCommand(io: Io): Command {
  return newCommand('serve', io)
    .description('run the gateway in front of a catalog')
    .requiredOption(
      '--config <file>',
      'settings file (YAML); environment variables (CATALOG_GATEWAY__...) override it',
    )
    .addHelpText('after', formatExample('catalog-gateway serve --config gateway.yaml'))
    .action(({ config }: { config: string }) => (cluster.isWorker ? serveAsWorker() : serve(config, io)))
}

async function serve(config: string, io: Io): Promise<void> {
  ignoreOtherSignals()
  const settings = await runStep(`the settings in ${config} cannot be used`, () =>
    readGatewaySettings(config, io.environment),
  )
  await assertNoDevelopmentFiles(settings)
  const gateway = await runStep('the gateway cannot start', () => start(settings))
  const announcement = `listening on ${gateway.url}\nadmin on ${gateway.adminUrl}\n`
  await runUntilStopped(io, { ...gateway, announcement })
}

async function start(settings: GatewaySettings): Promise<RunningGateway> {
  const workers = settings.workers === 'auto' ? await countAvailableCores() : settings.workers
  // Imported here for a fast start of the other commands.
  const { completeOrphanedLogs } = await import('../workers/orphaned-logs.ts')
  await completeOrphanedLogs(settings.audit, workers)
  if (workers === 1) return (await import('../gateway/bootstrap/start-gateway.ts')).startGateway({ settings })
  const { startWorkers, WorkerStartFailed } = await import('../workers/start-workers.ts')
  return startWorkers(settings, workers).catch((error: unknown) => {
    throw error instanceof WorkerStartFailed ? new CommandFailure(error.message) : error
  })
}

/** The primary process reports errors in the settings. */
async function serveAsWorker(): Promise<void> {
  const { runWorker } = await import('../workers/run-worker.ts')
  const { startGateway } = await import('../gateway/bootstrap/start-gateway.ts')
  await runWorker((options) => runStep('the gateway cannot start', () => startGateway(options)))
}
