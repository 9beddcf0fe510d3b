import type { Command } from 'commander'
import { readGatewaySettings } from '../config.ts'
import { assertNoDevelopmentFiles } from './development-files.ts'
import { attempt } from './failure.ts'
import { newCommand } from './new-command.ts'
import { untilStopped } from './until-stopped.ts'

/** `catalog-gateway serve --config FILE`: the gateway in front of the upstream of its settings. */
export function serveCommand(): Command {
  return newCommand('serve')
    .description('run the gateway in front of a catalog')
    .requiredOption(
      '--config <file>',
      'settings in YAML; the environment wins over them (CATALOG_GATEWAY__...)',
    )
    .action(async ({ config }: { config: string }) => {
      const settings = await attempt(`the settings in ${config} cannot be used`, () =>
        readGatewaySettings(config, process.env),
      )
      await assertNoDevelopmentFiles(settings)
      // Loaded here, so that the other commands start at once.
      const { startGateway } = await import('../gateway/gateway.ts')
      const gateway = await attempt('the gateway cannot start', () => startGateway({ settings }))
      process.stdout.write(`listening on ${gateway.url}\nadmin on ${gateway.adminUrl}\n`)
      await untilStopped(gateway.close)
    })
}
