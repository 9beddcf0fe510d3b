import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/free-port.ts'
import { fetchNode } from '../fetched-programs.ts'
import type { Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'

const script = fileURLToPath(new URL('http-proxy-process.ts', import.meta.url))

export const httpProxy: Peer = {
  name: 'http-proxy',
  what: 'fastify and @fastify/http-proxy, with keys, tokens (verified once) and rights looked up in a `preHandler`',
  credentials: ['key', 'token'],
  isJit: true,
  async provide() {
    const { file, version } = await fetchNode(24)
    const versions = ['fastify', '@fastify/http-proxy'].map((name) => `${name} ${versionOf(name)}`)
    return { file, version: `${versions.join(', ')} on Node ${version}` }
  },
  async start({ folder, program, upstreamPort, callers, core, certificate }) {
    const port = await freePort()
    const parameters = [port, upstreamPort, callers.keyMapFile, callers.keySetFile].map(String)
    const tls = certificate === undefined ? [] : [certificate.certFile, certificate.keyFile]
    const command = [program.file, script, ...parameters, ...tls] as const
    return startServer({ name: 'http-proxy', folder, command, port, core })
  },
}

function versionOf(dependency: string): string {
  const file = new URL(`../../../node_modules/${dependency}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
