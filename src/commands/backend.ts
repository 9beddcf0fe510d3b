import type { Command } from 'commander'
import { importCatalog } from './common/catalog-package.ts'
import type { Io } from './common/io.ts'
import { formatExample, newCommand } from './common/new-command.ts'

export function backendCommand(io: Io): Command {
  return newCommand('backend', io)
    .description('run the reference catalog on its own')
    .requiredOption(
      '--config <file>',
      'settings file (YAML); environment variables (CATALOG_GATEWAY__...) override it',
    )
    .option('--check', 'only check the settings and the files that they name; connects to nothing')
    .addHelpText('after', formatExample('catalog-gateway backend --config catalog.yaml'))
    .action(async ({ config, check }: { config: string; check?: true }) => {
      const { checkBackend, runBackend } = await importCatalog()
      await (check ? checkBackend : runBackend)(config, io)
    })
}
