import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Bodies } from './bodies.ts'
import type { Callers } from './callers.ts'
import { onCore } from './cores.ts'
import type { Credential } from './peer.ts'
import type { SmallWorkload } from './workloads.ts'

const script = fileURLToPath(new URL('wrk.lua', import.meta.url))

export interface LoadSetup {
  readonly callers: Callers
  readonly bodies: Bodies
  /** Core of the load generator; undefined for any. */
  readonly core: number | undefined
  readonly signal: AbortSignal
}

const resultSchema = z.object({
  requests: z.int(),
  microseconds: z.int(),
  /** Latencies in microseconds. */
  p50: z.number(),
  p99: z.number(),
  /** Responses with a status of 400 or more. */
  refused: z.int(),
  broken: z.int(),
})

export type LoadResult = z.output<typeof resultSchema>

/** The header that carries a credential. */
export function credentialHeader(
  credential: Credential,
  { apiKey, tokens }: Callers,
): Readonly<Record<string, string>> {
  return credential === 'key' ? { 'x-api-key': apiKey } : { authorization: `Bearer ${tokens[0]}` }
}

/** Runs a workload with wrk. Rejects if a response is unexpected, or if there is none. */
export async function runLoad(
  workload: SmallWorkload,
  { port, credential }: { readonly port: number; readonly credential: Credential },
  seconds: number,
  { callers, bodies, core, signal }: LoadSetup,
): Promise<LoadResult> {
  const { connections, path, tables, hasQuery, hasManyTokens, isRefused } = workload
  const headers = {
    ...(hasQuery === true && { 'content-type': 'application/json' }),
    ...(hasManyTokens !== true && credentialHeader(credential, callers)),
  }
  const result = await runWrk({
    connections,
    seconds,
    headers: Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    url: `http://127.0.0.1:${port}${path}`,
    core,
    signal,
    environment: {
      ...(hasQuery === true && { BENCH_BODY_FILE: bodies.file('query') }),
      ...(tables !== undefined && { BENCH_TABLES: String(tables) }),
      ...(hasManyTokens === true && { BENCH_TOKENS_FILE: callers.tokensFile }),
    },
  })
  const unexpected = isRefused === true ? result.requests - result.refused : result.refused
  if (unexpected > 0)
    throw new Error(`${unexpected} of ${result.requests} responses had another status than expected`)
  if (result.broken > 0) throw new Error(`${result.broken} requests got no response`)
  return result
}

export interface WrkRun {
  readonly connections: number
  readonly seconds: number
  readonly headers: readonly string[]
  readonly url: string
  /** Core to run on; undefined for any. */
  readonly core: number | undefined
  readonly signal?: AbortSignal
  /** Variables of `wrk.lua` besides the method. */
  readonly environment: Readonly<Record<string, string>>
}

/** Sends POST requests of one kind for `seconds`. Rejects if wrk fails; the result counts responses by kind. */
export async function runWrk(run: WrkRun): Promise<LoadResult> {
  const [program, ...parameters] = onCore(run.core, [
    'wrk',
    '-t1',
    `-c${run.connections}`,
    `-d${run.seconds}s`,
    '--timeout=60s',
    `--script=${script}`,
    ...run.headers.flatMap((header) => ['-H', header]),
    run.url,
  ])
  const { stdout } = await promisify(execFile)(program, parameters, {
    signal: run.signal,
    env: { ...process.env, BENCH_METHOD: 'POST', ...run.environment },
  })
  return resultSchema.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}
