import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { startProgram, type Program } from '../e2e/built-program.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { writeFiles } from '../policy/source/policy-folder.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** A gateway started with `serve`, with a recording upstream. */
export interface ServingGateway {
  readonly url: string
  readonly adminUrl: string
  readonly folder: string
  readonly pepper: string
  readonly upstream: RecordingUpstream
  readonly program: Program
  /** API key of `dev`, who may do everything, or of `nobody`, who may do nothing. */
  key(principal: string): string
  post(
    target: string,
    options?: { as?: string | null; headers?: Readonly<Record<string, string>>; body?: string },
  ): Promise<Response>
  /** Stops it as Kubernetes does, and returns its complete log. */
  stop(): Promise<string>
}

/** The groups of `nobody`. */
export const manyGroups = Array.from({ length: 40 }, (_, index) => `group-${index}`)

/** Starts a gateway with additional settings sections, files next to the settings, and upstream options. */
export async function servingGateway(
  sections: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
  upstreamSettings: Readonly<Record<string, unknown>> = {},
): Promise<ServingGateway> {
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
  const program = startProgram(['serve', '--config', join(folder, 'gateway.yaml')])
  const url = await program.announced(/^listening on (http\S+)$/m)
  const key = (principal: string): string => keys.get(principal) ?? principal
  return {
    url,
    adminUrl: await program.announced(/^admin on (http:\S+)$/m),
    folder,
    pepper,
    upstream,
    program,
    key,
    post: (target, { as = 'dev', headers, body } = {}) =>
      fetch(url + target, {
        method: 'POST',
        headers: { ...(as !== null && { 'x-api-key': key(as) }), ...headers },
        ...(body !== undefined && { body }),
      }),
    async stop() {
      program.signal('SIGTERM')
      const { status, messages } = await program.ended
      if (status !== 0) throw new Error(`the gateway ended with ${status}: ${messages}`)
      return messages
    },
  }
}

/** Parses the lines of a log; throws for invalid JSON. */
export function linesOf(log: string): LogLine[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)
}
