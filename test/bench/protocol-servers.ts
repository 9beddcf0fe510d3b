import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { makeAuthority } from '../identity/mtls/test-certificates.ts'
import type { Callers } from './callers.ts'
import { writeGatewaySettings } from './peers/gateway-settings.ts'
import type { Protocol } from './protocol-client.ts'
import { startServer, type ServerProcess } from './server-process.ts'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface ProtocolServer {
  readonly name: string
  readonly protocol: Protocol
  readonly server: ServerProcess
}

interface Surroundings {
  readonly folder: string
  readonly upstreamPort: number
  readonly callers: Callers
}

/** Starts the gateway with each of its parsers, its plugin, and a plain http-proxy, for each of their protocols. */
export async function startProtocolServers(surroundings: Surroundings): Promise<readonly ProtocolServer[]> {
  const { folder } = surroundings
  const authority = await makeAuthority(folder, 'bench')
  const certificate = await authority.issue('server', 'IP:127.0.0.1')
  const files = { certFile: certificate.certFile, keyFile: certificate.keyFile }
  const servers: ProtocolServer[] = []
  const add = async (
    name: string,
    protocol: Protocol,
    start: (name: string, port: number) => Promise<ServerProcess>,
  ) => {
    const own = `${name}, ${protocol}`.replaceAll(/[^a-z0-9]+/gi, '-')
    servers.push({ name, protocol, server: await start(own, await freePort()) })
  }
  for (const parser of ['own', 'node']) {
    const listeners = [
      { listen: { parser, h2c: true }, served: ['HTTP/1.1', 'h2c'] },
      { listen: { parser, tls: files }, served: ['HTTP/1.1 over TLS', 'HTTP/2 over TLS'] },
    ] as const
    for (const { listen, served } of listeners) {
      for (const protocol of served) {
        // HTTP/2 has one parser.
        if (parser === 'node' && !protocol.startsWith('HTTP/1.1')) continue
        await add(`serve, parser ${parser}`, protocol, (own, port) =>
          startGateway(own, { ...surroundings, port, listen }),
        )
      }
    }
  }
  for (const protocol of ['HTTP/1.1', 'HTTP/1.1 over TLS', 'h2c', 'HTTP/2 over TLS'] as const) {
    const tls = protocol.endsWith('TLS') ? [files.certFile, files.keyFile] : []
    await add('plugin', protocol, async (own, port) => {
      const settings = await writeSettings(own, surroundings, {})
      return startProcess(own, folder, port, 'plugin-process.ts', [settings, protocol, ...tls])
    })
    await add('fastify and http-proxy', protocol, (own, port) => {
      const { upstreamPort, callers } = surroundings
      const parameters = [String(upstreamPort), callers.keyMapFile, callers.keySetFile, protocol, ...tls]
      return startProcess(own, folder, port, 'http-proxy-process.ts', parameters)
    })
  }
  return servers
}

async function writeSettings(name: string, surroundings: Surroundings, more: object): Promise<string> {
  const folder = join(surroundings.folder, name)
  await mkdir(folder)
  return writeGatewaySettings({ ...surroundings, folder }, more)
}

async function startGateway(
  name: string,
  { port, listen, ...surroundings }: Surroundings & { readonly port: number; readonly listen: object },
): Promise<ServerProcess> {
  const more = { listen: { ...listen, port }, admin: { port: 0 } }
  const file = await writeSettings(name, surroundings, more)
  const { folder } = surroundings
  const command = [process.execPath, program, 'serve', '--config', file] as const
  return startServer({ name, folder, command, port, core: undefined })
}

function startProcess(
  name: string,
  folder: string,
  port: number,
  file: string,
  parameters: readonly string[],
): Promise<ServerProcess> {
  const script = fileURLToPath(new URL(`peers/${file}`, import.meta.url))
  const command = [
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    script,
    String(port),
    ...parameters,
  ] as const
  return startServer({ name, folder, command: [...command], port, core: undefined })
}
