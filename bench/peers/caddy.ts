import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import { buildGoProgram } from '../fetched-programs.ts'
import type { Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'

export const caddy: Peer = {
  name: 'caddy',
  what: 'Caddy with a matcher of the API key and one of the path, and a log line a request; it has no tokens',
  credentials: ['key'],
  isJit: false,
  provide: () =>
    buildGoProgram({
      name: 'caddy',
      path: 'github.com/caddyserver/caddy/v2',
      version: 'v2.11.9',
      main: './cmd/caddy',
    }),
  async start({ folder, program, upstreamPort, callers, core, certificate }) {
    const port = await freePort()
    const file = join(folder, 'Caddyfile')
    await writeFile(
      file,
      `{
  admin off
  auto_https off
  persist_config off
}
${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port} {
  ${certificate === undefined ? '' : `tls ${certificate.certFile} ${certificate.keyFile}`}
  log {
    output stdout
  }
  @dots vars_regexp {http.request.orig_uri} (?i)([.][.]|%2e)
  respond @dots 400
  @unknown not header X-Api-Key ${callers.apiKey}
  respond @unknown 401
  @denied not path /v1/table/bench$*
  respond @denied 403
  reverse_proxy 127.0.0.1:${upstreamPort} {
    header_up -X-Api-Key
    flush_interval -1
    transport http {
      max_conns_per_host 128
      keepalive_idle_conns_per_host 128
    }
  }
}
`,
    )
    const command = [program.file, 'run', '--config', file, '--adapter', 'caddyfile'] as const
    return startServer({ name: 'caddy', folder, command, port, core, environment: { GOMAXPROCS: '1' } })
  },
}
