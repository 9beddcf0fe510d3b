import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { startGateway } from '../../src/gateway/bootstrap/start-gateway.ts'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { startProgram, type Program } from '../e2e/built-program.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { writeFiles } from '../policy/source/policy-folder.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** A gateway with a settings file, a log and a recording upstream. */
export interface ServingGateway {
  readonly url: string
  readonly adminUrl: string
  readonly folder: string
  readonly upstream: RecordingUpstream
  /** API key of `dev`, with all permissions, or of `nobody`, with none. */
  key(principal: string): string
  post(
    target: string,
    options?: { as?: string | null; headers?: Readonly<Record<string, string>>; body?: string },
  ): Promise<Response>
  /** Stops it, and returns its complete log. */
  stop(): Promise<string>
}

/** The same, started with `serve`. It is stopped as Kubernetes does. */
export interface ServingProgram extends ServingGateway {
  readonly pepper: string
  readonly program: Program
}

/** Settings sections, files next to the settings, and upstream options, all in addition to the usual ones. */
type Additions = readonly [
  sections: Readonly<Record<string, unknown>>,
  files?: Readonly<Record<string, string>>,
  upstreamSettings?: Readonly<Record<string, unknown>>,
]

/** The groups of `nobody`. */
export const manyGroups = Array.from({ length: 40 }, (_, index) => `group-${index}`)

/** Starts a gateway in this process, whose log goes to a file. */
export async function servingGateway(...additions: Additions): Promise<ServingGateway> {
  const written = await writeSettings(...additions)
  const logFile = join(written.folder, 'log')
  const log = await open(logFile, 'w')
  onTestFinished(() => log.close())
  const stderr = Object.getOwnPropertyDescriptor(process, 'stderr') ?? {}
  const settings = await readGatewaySettings(written.file, {})
  // Where a log goes is decided when it is opened.
  Object.defineProperty(process, 'stderr', { configurable: true, value: { fd: log.fd } })
  const gateway = await startGateway({ settings }).finally(() =>
    Object.defineProperty(process, 'stderr', stderr),
  )
  onTestFinished(() => gateway.close())
  return {
    ...written,
    ...requestsTo(gateway.url, written.key),
    adminUrl: gateway.adminUrl,
    async stop() {
      await gateway.close()
      return readFile(logFile, 'utf8')
    },
  }
}

/** Starts the program. */
export async function servingProgram(...additions: Additions): Promise<ServingProgram> {
  const written = await writeSettings(...additions)
  const program = startProgram(['serve', '--config', written.file])
  return {
    ...written,
    ...requestsTo(await program.announced(/^listening on (http\S+)$/m), written.key),
    adminUrl: await program.announced(/^admin on (http:\S+)$/m),
    program,
    async stop() {
      program.signal('SIGTERM')
      const { status, messages } = await program.ended
      if (status !== 0) throw new Error(`the gateway ended with ${status}: ${messages}`)
      return messages
    },
  }
}

function requestsTo(url: string, key: ServingGateway['key']): Pick<ServingGateway, 'url' | 'post'> {
  return {
    url,
    post: (target, { as = 'dev', headers, body } = {}) =>
      fetch(url + target, {
        method: 'POST',
        headers: { ...(as !== null && { 'x-api-key': key(as) }), ...headers },
        ...(body !== undefined && { body }),
      }),
  }
}

async function writeSettings(...[sections, files = {}, upstreamSettings = {}]: Additions) {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const folder = await temporaryFolder()
  const pepper = randomBytes(32).toString('base64url')
  await writeFiles(folder, {
    'keys.yaml': 'keys: []\n',
    pepper,
    'policies/policies.yaml': formatPolicies([allowEverything]),
    'gateway.yaml': stringify({
      listen: { port: 0 },
      admin: { port: 0 },
      upstream: {
        url: upstream.url,
        ...upstreamSettings,
      },
      identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
      policies: { folder: 'policies' },
      audit: { folder: 'audit' },
      ...sections,
    }),
    ...files,
  })
  const keys = new Map<string, string>()
  for (const principal of ['dev', 'nobody']) {
    const { text } = await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), {
      principal,
      groups: principal === 'nobody' ? manyGroups : [],
    })
    keys.set(principal, text)
  }
  const key = (principal: string): string => keys.get(principal) ?? principal
  return { folder, file: join(folder, 'gateway.yaml'), pepper, upstream, key }
}

/** Parses the lines of a log; throws for invalid JSON. */
export function linesOf(log: string): LogLine[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)
}
