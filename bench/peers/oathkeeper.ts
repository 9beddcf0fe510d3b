import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/free-port.ts'
import { audience, issuer } from '../callers.ts'
import { buildGoProgram } from '../fetched-programs.ts'
import type { Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'

export const oathkeeper: Peer = {
  name: 'oathkeeper',
  what: 'Ory Oathkeeper with its JWT authenticator and a rule by path, and a log line a request; it has no API keys',
  credentials: ['token'],
  isJit: false,
  provide: () =>
    buildGoProgram({ name: 'oathkeeper', path: 'github.com/ory/oathkeeper', version: 'v0.40.9', main: '.' }),
  async start({ folder, program, upstreamPort, callers, core }) {
    const [port, apiPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
    const here = { host: '127.0.0.1' }
    const match = { methods: ['GET', 'POST'] }
    const rule = {
      authenticators: [{ handler: 'jwt' }],
      mutators: [{ handler: 'header' }],
      errors: [{ handler: 'json' }],
      upstream: { url: `http://127.0.0.1:${upstreamPort}`, preserve_host: true },
    }
    const rulesFile = join(folder, 'rules.json')
    const origin = `<https?>://<[^/]+>`
    const allowed = 'v1/table/bench(\\$|%24)(?!.*(\\.\\.|%2e|%2E))'
    await writeFile(
      rulesFile,
      JSON.stringify([
        {
          ...rule,
          id: 'allowed',
          match: { ...match, url: `${origin}/<${allowed}.*>` },
          authorizer: { handler: 'allow' },
        },
        {
          ...rule,
          id: 'denied',
          match: { ...match, url: `${origin}/<(?!${allowed}).*>` },
          authorizer: { handler: 'deny' },
        },
      ]),
    )
    const file = join(folder, 'oathkeeper.yaml')
    await writeFile(
      file,
      stringify({
        log: { level: 'info', format: 'json' },
        serve: {
          proxy: { ...here, port, timeout: { read: '10m', write: '10m', idle: '10m' } },
          api: { ...here, port: apiPort },
          prometheus: { ...here, port: metricsPort },
        },
        access_rules: { repositories: [`file://${rulesFile}`], matching_strategy: 'regexp' },
        errors: { fallback: ['json'], handlers: { json: { enabled: true, config: {} } } },
        authenticators: {
          jwt: {
            enabled: true,
            config: {
              jwks_urls: [`file://${callers.keySetFile}`],
              trusted_issuers: [issuer],
              target_audience: [audience].flat(),
              allowed_algorithms: ['RS256'],
            },
          },
        },
        authorizers: { allow: { enabled: true }, deny: { enabled: true } },
        mutators: { header: { enabled: true, config: { headers: { authorization: '' } } } },
      }),
    )
    const command = [program.file, 'serve', '--config', file] as const
    return startServer({ name: 'oathkeeper', folder, command, port, core, environment: { GOMAXPROCS: '1' } })
  },
}
