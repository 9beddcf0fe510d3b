import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/free-port.ts'
import { buildGoProgram } from '../fetched-programs.ts'
import type { Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'

const rulesMs = 30_000

export const traefik: Peer = {
  name: 'traefik',
  what: 'Traefik with rules that match the API key and the path, and a log line a request; it has no tokens',
  credentials: ['key'],
  isJit: false,
  provide: () =>
    buildGoProgram({
      name: 'traefik',
      path: 'github.com/traefik/traefik/v3',
      version: 'v3.5.0',
      main: './cmd/traefik',
      embedded: 'webui/static',
    }),
  async start({ folder, program, upstreamPort, callers, core }) {
    const port = await freePort()
    const rulesFile = join(folder, 'rules.yaml')
    const hasKey = `Header(\`x-api-key\`, \`${callers.apiKey}\`)`
    await writeFile(
      rulesFile,
      stringify({
        http: {
          routers: {
            allowed: {
              rule: `${hasKey} && (PathPrefix(\`/v1/table/bench$\`) || PathPrefix(\`/v1/table/bench%24\`))`,
              priority: 3,
              service: 'upstream',
              middlewares: ['withoutKey'],
            },
            denied: { rule: hasKey, priority: 2, service: 'noop@internal', middlewares: ['403'] },
            unknown: { rule: 'PathPrefix(`/`)', priority: 1, service: 'noop@internal', middlewares: ['401'] },
          },
          middlewares: {
            401: refuse(401),
            403: refuse(403),
            withoutKey: { headers: { customRequestHeaders: { 'x-api-key': '' } } },
          },
          services: {
            upstream: {
              loadBalancer: {
                servers: [{ url: `http://127.0.0.1:${upstreamPort}` }],
                serversTransport: 'pool',
              },
            },
          },
          serversTransports: { pool: { maxIdleConnsPerHost: 128 } },
        },
      }),
    )
    const file = join(folder, 'traefik.yaml')
    await writeFile(
      file,
      stringify({
        global: { checkNewVersion: false, sendAnonymousUsage: false },
        entryPoints: {
          in: {
            address: `127.0.0.1:${port}`,
            // Uploads and downloads may take longer than a minute.
            transport: { respondingTimeouts: { readTimeout: 0 } },
          },
        },
        providers: { file: { filename: rulesFile } },
        accessLog: {},
        log: { level: 'ERROR' },
      }),
    )
    const command = [program.file, `--configFile=${file}`] as const
    const server = await startServer({
      name: 'traefik',
      folder,
      command,
      port,
      core,
      environment: { GOMAXPROCS: '1' },
    })
    await waitForRules(port)
    return server
  },
}

/** Waits until the rules apply, which is later than the listener. */
async function waitForRules(port: number): Promise<void> {
  const deadline = Date.now() + rulesMs
  while ((await fetch(`http://127.0.0.1:${port}/`)).status !== 401) {
    if (Date.now() > deadline) throw new Error('its rules do not apply')
    await pause(50)
  }
}

/** A middleware that refuses every client. */
function refuse(status: number): object {
  return { ipAllowList: { sourceRange: ['192.0.2.1/32'], rejectStatusCode: status } }
}
