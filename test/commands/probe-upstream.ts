import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies, type WrittenPolicy } from '../policy/policy-builder.ts'
import { runCommand, type CommandEnd } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface ProbeOptions {
  /** Further settings. */
  readonly settings?: object
  readonly policies?: readonly WrittenPolicy[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs `check --probe` with these settings of the upstream. */
export async function probeUpstream(
  upstream: object,
  { settings = {}, policies = [], environment = {} }: ProbeOptions = {},
): Promise<CommandEnd> {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'all.yaml'), formatPolicies([allowEverything, ...policies]))
  const file = join(folder, 'gateway.yaml')
  const identity = { anonymous: true }
  const least = { upstream, identity, policies: { folder: 'policies' }, audit: { folder: 'audit' } }
  await writeFile(file, stringify({ ...least, ...settings }))
  const ports = { CATALOG_GATEWAY__LISTEN__PORT: '0', CATALOG_GATEWAY__ADMIN__PORT: '0' }
  return runCommand(['check', '--config', file, '--probe'], { environment: { ...ports, ...environment } })
}
