import { fileURLToPath } from 'node:url'
import type { BodySize } from '../upstream-contract.ts'
import { freePort } from '../../test/support/free-port.ts'
import { startServer, type ServerProcess } from '../server-process.ts'

const program = fileURLToPath(new URL('upstream-process.ts', import.meta.url))

/** Starts the upstream of all measurements with large bodies of those sizes; over TLS if it gets a certificate. */
export async function startUpstream(
  folder: string,
  core: number | undefined,
  sizes: readonly BodySize[],
  certificate?: { readonly certFile: string; readonly keyFile: string },
): Promise<ServerProcess> {
  const port = await freePort()
  const tsx = import.meta.resolve('tsx')
  const command = [process.execPath, '--import', tsx, program, String(port), ...sizes] as const
  const environment =
    certificate === undefined
      ? {}
      : { BENCH_CERT_FILE: certificate.certFile, BENCH_KEY_FILE: certificate.keyFile }
  const name = certificate === undefined ? 'upstream' : 'upstream-tls'
  return startServer({ name, folder, command: [...command], port, core, environment })
}
