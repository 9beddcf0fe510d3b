import type { Command } from 'commander'
import { findDevelopmentFiles } from './dev/dev.ts'
import { readConfig } from './common/arguments.ts'
import { CommandFailure, runStep } from './common/command-failure.ts'
import type { Io } from './common/io.ts'
import { formatExample, newCommand } from './common/new-command.ts'
import { ignoreOtherSignals, runUntilStopped } from './common/run-until-stopped.ts'
import { startGateway } from '../gateway/index.ts'

export function serveCommand(io: Io): Command {
  return newCommand('serve', io)
    .description('run the gateway in front of a catalog')
    .requiredOption(
      '--config <file>',
      'settings file (YAML); environment variables (CATALOG_GATEWAY__...) override it',
    )
    .addHelpText('after', formatExample('catalog-gateway serve --config gateway.yaml'))
    .action(({ config }: { config: string }) => serve(config, io))
}

async function serve(config: string, io: Io): Promise<void> {
  ignoreOtherSignals()
  const settings = await readConfig(config, io)
  const developmentFiles = await findDevelopmentFiles(settings)
  if (developmentFiles.length > 0) throw new CommandFailure(developmentFiles.join('\n'))
  const gateway = await runStep('the gateway cannot start', () => startGateway({ settings }))
  const { url, adminUrl, passThroughUrl } = gateway
  const routes = passThroughUrl === undefined ? '' : `pass-through on ${passThroughUrl}\n`
  const announcement = `listening on ${url}\nadmin on ${adminUrl}\n${routes}`
  await runUntilStopped(io, { ...gateway, announcement })
}
