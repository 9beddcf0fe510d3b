import type { Command } from 'commander'
import { hasErrorCode, toError } from '../lib/index.ts'
import { version } from '../version.ts'
import { CommandFailure } from './common/command-failure.ts'
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

/** The exports of the package of the bundled catalog (`src/backend/index.ts`). */
interface CatalogPackage {
  /** Runs a catalog with the settings in that file until it is stopped. */
  readonly runBackend: (configFile: string, io: Io) => Promise<void>
  /** Checks the settings in that file and the files that they name. */
  readonly checkBackend: (configFile: string, io: Io) => Promise<void>
}

// Not a literal: the types of that package are built from those of this one.
const catalogPackage: string = '@catalog-gateway/catalog'

/** Loads the package of the bundled catalog. Throws CommandFailure if it is not installed. */
async function importCatalog(): Promise<CatalogPackage> {
  try {
    const loaded: CatalogPackage = await import(catalogPackage)
    return loaded
  } catch (error) {
    const isMissing = hasErrorCode(error, 'ERR_MODULE_NOT_FOUND')
    if (!isMissing || !toError(error).message.includes(`'${catalogPackage}'`)) throw error
    throw new CommandFailure(
      `the bundled catalog is a package of its own; pack it in a checkout of version ${version} (npm pack --workspace src/backend), and install the file`,
    )
  }
}
