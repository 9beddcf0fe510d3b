import { access, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { acceptanceHint, type GatewaySettings } from '../../config/index.ts'
import { devFiles } from './dev.ts'
import { CommandFailure } from '../common/command-failure.ts'

/** Throws CommandFailure if the settings name files of `dev` without accepting that explicitly. */
export async function assertNoDevelopmentFiles(settings: GatewaySettings): Promise<void> {
  const found = await findDevelopmentFiles(settings)
  if (found.length > 0) throw new CommandFailure(found.join('\n'))
}

/** Describes the files of `dev` that the settings name and do not accept. */
export async function findDevelopmentFiles({
  identity,
  upstreams,
  unsafe,
}: GatewaySettings): Promise<readonly string[]> {
  const secrets = [
    { setting: 'identity.apiKeys.store', file: identity.apiKeys?.store },
    { setting: 'identity.apiKeys.pepperFile', file: identity.apiKeys?.pepperFile },
    { setting: 'identity.bootstrapKey.file', file: identity.bootstrapKey?.file },
    ...upstreams.map(({ name, credential }) => ({
      setting: `the credential of ${name}`,
      file: credential?.file,
    })),
  ]
  const found: string[] = []
  if (!unsafe.includes('development-key')) {
    for (const { setting, file } of secrets) {
      if (file === undefined || !(await isDevelopmentFile(file))) continue
      const expected = `expected separate files, ${acceptanceHint('development-key')}`
      found.push(`${setting} is in the data folder of \`dev\`, next to its key; ${expected}`)
    }
  }
  return found
}

async function isDevelopmentFile(file: string): Promise<boolean> {
  const folder = dirname(await realPath(file))
  return access(join(folder, devFiles.key)).then(
    () => true,
    () => false,
  )
}

/** Resolves symbolic links. A missing file keeps its path: reading it reports the error. */
function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
