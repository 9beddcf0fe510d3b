import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { version } from '../../../src/version.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { audience, callerName, issuer } from '../callers.ts'
import type { Peer } from '../peer.ts'
import { freePort } from '../../support/free-port.ts'
import { startServer } from '../server-process.ts'

const program = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

/** What the callers of the bench may do. */
export const policies: readonly WrittenPolicy[] = [
  { name: 'root', namespace: [], onDeny: 403, rules: [] },
  {
    name: 'bench',
    namespace: ['bench'],
    onDeny: 403,
    rules: [
      {
        id: 'callers',
        effect: 'allow',
        subjects: { users: [callerName, `corp:${callerName}`] },
        operations: ['read', 'create', 'write', 'commit'],
      },
    ],
  },
]

/** The gateway as built, with all features enabled. */
export const gateway: Peer = {
  name: 'gateway',
  what: 'this gateway: `serve` with policies, body checks, strict audit of changes, metrics and a log line a request',
  checks: true,
  version: () => version,
  async start({ folder, upstreamPort, callers, core, profileFolder }) {
    const port = await freePort()
    const file = join(folder, 'gateway.yaml')
    await mkdir(join(folder, 'policies'))
    await writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies(policies))
    await writeFile(
      file,
      stringify({
        listen: { port },
        admin: { port: 0 },
        // Queues a thousand concurrent clients; by default most would be refused.
        upstream: { url: `http://127.0.0.1:${upstreamPort}`, maxPendingRequests: 1_000 },
        identity: {
          apiKeys: { store: callers.storeFile, pepperFile: callers.pepperFile },
          issuers: [
            { name: 'corp', issuer, audience, algorithms: ['RS256'], jwks: { file: callers.keySetFile } },
          ],
        },
        policies: { folder: 'policies' },
        audit: { folder: 'audit' },
      }),
    )
    const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
    return startServer({
      name: 'gateway',
      folder,
      command: [process.execPath, ...profiling, program, 'serve', '--config', file],
      port,
      core,
    })
  },
}
