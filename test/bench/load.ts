import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Bodies } from './bodies.ts'
import type { Callers } from './callers.ts'
import { onCore } from './cores.ts'
import { arrowStreamType } from '../../src/catalog-api/headers.ts'
import type { Workload } from './workloads.ts'

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
  /** Response bytes including heads, and incomplete responses at the end. */
  bytes: z.int(),
  /** Latencies in microseconds. */
  p50: z.number(),
  p99: z.number(),
  /** Responses with a status of 400 or more. */
  refused: z.int(),
  broken: z.int(),
})

export type LoadResult = z.output<typeof resultSchema>

/** Runs a workload with wrk. Rejects if a response is unexpected, or if there is none. */
export async function runLoad(
  workload: Workload,
  port: number,
  seconds: number,
  { callers, bodies, core, signal }: LoadSetup,
): Promise<LoadResult> {
  const { body, credential, connections, path, tables, isChunked = false, isRefused = false } = workload
  const isArrow = body?.startsWith('arrow') ?? false
  const headers = [
    ...(body === undefined ? [] : [`content-type: ${isArrow ? arrowStreamType : 'application/json'}`]),
    ...(credential === 'key' ? [`x-api-key: ${callers.apiKey}`] : []),
    ...(credential === 'token' ? [`authorization: Bearer ${callers.tokens[0]}`] : []),
  ]
  const result = await runWrk({
    connections,
    seconds,
    headers,
    url: `http://127.0.0.1:${port}${path}`,
    core,
    signal,
    environment: {
      ...(body !== undefined && { BENCH_BODY_FILE: bodies.file(body) }),
      ...(isChunked && { BENCH_CHUNKED: '1' }),
      ...(tables !== undefined && { BENCH_TABLES: String(tables) }),
      ...(credential === 'tokens' && { BENCH_TOKENS_FILE: callers.tokensFile }),
    },
  })
  const unexpected = isRefused ? result.requests - result.refused : result.refused
  if (unexpected > 0)
    throw new Error(`${unexpected} of ${result.requests} answers had another status than expected`)
  if (result.broken > 0) throw new Error(`${result.broken} requests were not answered`)
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
