import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Peer } from '../peer.ts'
import { freePort } from '../../support/free-port.ts'
import { startServer } from '../server-process.ts'

const program = fileURLToPath(new URL('http-proxy-process.ts', import.meta.url))

export const httpProxy: Peer = {
  name: 'http-proxy',
  what: 'fastify and @fastify/http-proxy, with keys, tokens (verified once) and rights looked up in a `preHandler`',
  checks: true,
  version: () => `fastify ${versionOf('fastify')}, @fastify/http-proxy ${versionOf('@fastify/http-proxy')}`,
  async start({ folder, upstreamPort, callers, core }) {
    const port = await freePort()
    const parameters = [port, upstreamPort, callers.keyMapFile, callers.keySetFile].map(String)
    const command = [
      process.execPath,
      '--import',
      import.meta.resolve('tsx'),
      program,
      ...parameters,
    ] as const
    return startServer({ name: 'http-proxy', folder, command: [...command], port, core })
  },
}

function versionOf(dependency: string): string {
  const file = new URL(`../../../node_modules/${dependency}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
