import { access, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { acceptanceHint, type GatewaySettings } from '../../config/index.ts'
import { devFiles } from './dev.ts'

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
  if (unsafe.includes('development-key')) return []
  const found: string[] = []
  for (const { setting, file } of secrets) {
    if (file === undefined || !(await isDevelopmentFile(file))) continue
    const expected = `expected separate files, ${acceptanceHint('development-key')}`
    found.push(`${setting} is in the data folder of \`dev\`, next to its key; ${expected}`)
  }
  return found
}

/** Follows symbolic links. A missing file is none: reading it reports the error. */
async function isDevelopmentFile(file: string): Promise<boolean> {
  const path = await realpath(file).catch(() => file)
  return access(join(dirname(path), devFiles.key)).then(
    () => true,
    () => false,
  )
}
