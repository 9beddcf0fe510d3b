import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../../src/version.ts'
import { freePort } from '../../test/support/free-port.ts'
import { readImageNodeOptions } from '../../test/support/image-node-options.ts'
import { fetchNode, type NodeMajor } from '../fetched-programs.ts'
import type { Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'
import { writeGatewaySettings } from './gateway-settings.ts'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const pluginScript = fileURLToPath(new URL('plugin-process.ts', import.meta.url))

/** The gateway as built, with all features enabled and the options of the image, on a version of Node. */
export function gatewayOn(major: NodeMajor): Peer {
  const name = `gateway-${major}`
  return {
    name,
    what: 'this gateway: `serve` with policies, body checks, strict audit of changes, metrics and a log line a request',
    credentials: ['key', 'token'],
    isJit: true,
    provide: () => provide(major),
    async start({ profileFolder, certificate, ...setup }) {
      const port = await freePort()
      const listen = { port, ...(certificate && { tls: certificate }) }
      const file = await writeGatewaySettings(setup, { listen, admin: { port: 0 } })
      const profiling =
        profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profileFolder, name)}`]
      const command = [setup.program.file, ...profiling, main, 'serve', '--config', file] as const
      const environment = { NODE_OPTIONS: readImageNodeOptions() }
      return startServer({ name, folder: setup.folder, command, port, core: setup.core, environment })
    },
  }
}

/** The plugin as built, in an application of Fastify. */
export const plugin: Peer = {
  name: 'plugin',
  what: 'the plugin of this gateway in a Fastify application, with the same settings',
  credentials: ['key', 'token'],
  isJit: true,
  provide: () => provide(24),
  async start({ certificate, ...setup }) {
    const port = await freePort()
    const file = await writeGatewaySettings(setup, {})
    const tls = certificate === undefined ? [] : [certificate.certFile, certificate.keyFile]
    const command = [setup.program.file, pluginScript, String(port), file, ...tls] as const
    return startServer({ name: 'plugin', folder: setup.folder, command, port, core: setup.core })
  },
}

async function provide(major: NodeMajor) {
  const node = await fetchNode(major)
  return { file: node.file, version: `${version} on Node ${node.version}` }
}
