import { fileURLToPath } from 'node:url'
import type { BodySize } from '../upstream-contract.ts'
import { freePort } from '../../support/free-port.ts'
import { startServer, type ServerProcess } from '../server-process.ts'

const program = fileURLToPath(new URL('upstream-process.ts', import.meta.url))

/** Starts the upstream of all measurements with large bodies of those sizes. */
export async function startUpstream(
  folder: string,
  core: number | undefined,
  sizes: readonly BodySize[],
): Promise<ServerProcess> {
  const port = await freePort()
  const tsx = import.meta.resolve('tsx')
  const command = [process.execPath, '--import', tsx, program, String(port), ...sizes] as const
  return startServer({ name: 'upstream', folder, command: [...command], port, core })
}
