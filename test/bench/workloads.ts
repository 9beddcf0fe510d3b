import type { BodySize } from './upstream-contract.ts'

/** One kind of request, repeated over persistent connections. */
export interface Workload {
  readonly name: string
  /** Description for the results. */
  readonly what: string
  readonly path: string
  readonly credential: 'key' | 'token' | 'tokens'
  readonly connections: number
  /** Number of tables requested in turn; by default only that of the path. */
  readonly tables?: number
  /** Request body; none by default. */
  readonly body?: 'query' | `arrow-${BodySize}`
  readonly isChunked?: boolean
  /** Whether every response must be 403. */
  readonly isRefused?: boolean
  /** Direction of counted bytes, if throughput matters more than requests. */
  readonly bulk?: 'up' | 'down'
}

const usual = { connections: 32, tables: 100 } as const
/** Few, so that the latency of a large body does not include queueing. */
const bulk = { connections: 4, credential: 'token' } as const
const down = { ...bulk, body: 'query', bulk: 'down' } as const

export const workloads: readonly Workload[] = [
  {
    ...usual,
    name: 'small-read',
    what: 'a small read with an API key: ListTableVersions of a hundred tables in turn, 32 connections',
    path: '/v1/table/bench$small/version/list',
    credential: 'key',
  },
  {
    ...usual,
    name: 'small-json',
    what: 'a small JSON call with one RS256 token: QueryTable, 32 connections',
    path: '/v1/table/bench$small/query',
    credential: 'token',
    body: 'query',
  },
  {
    ...usual,
    name: 'many-tokens',
    what: 'the same with many RS256 tokens in turn',
    path: '/v1/table/bench$small/query',
    credential: 'tokens',
    body: 'query',
  },
  {
    ...usual,
    name: 'refusals',
    what: 'a denied small read (403), 32 connections',
    path: '/v1/table/secret$small/version/list',
    credential: 'key',
    isRefused: true,
  },
  {
    ...usual,
    name: 'one-connection',
    what: 'the small read with an API key over one connection: latency added to direct',
    path: '/v1/table/bench$small/version/list',
    credential: 'key',
    connections: 1,
  },
  {
    ...usual,
    name: 'many-connections',
    what: 'the small read with an API key over 1,000 connections',
    path: '/v1/table/bench$small/version/list',
    credential: 'key',
    connections: 1_000,
  },
  {
    ...bulk,
    name: 'upload-1m',
    what: 'an upload of 1 MiB of Arrow: InsertIntoTable, 4 connections',
    path: '/v1/table/bench$small/insert',
    body: 'arrow-1m',
    bulk: 'up',
  },
  {
    ...bulk,
    name: 'upload-64m',
    what: 'an upload of 64 MiB of Arrow, 4 connections',
    path: '/v1/table/bench$small/insert',
    body: 'arrow-64m',
    bulk: 'up',
  },
  {
    ...bulk,
    name: 'upload-64m-chunked',
    what: 'the same in chunks of 64 KiB',
    path: '/v1/table/bench$small/insert',
    body: 'arrow-64m',
    isChunked: true,
    bulk: 'up',
  },
  {
    ...down,
    name: 'download-1m',
    what: 'a response of 1 MiB to QueryTable, 4 connections',
    path: '/v1/table/bench$sized-1m/query',
  },
  {
    ...down,
    name: 'download-64m',
    what: 'a response of 64 MiB, 4 connections',
    path: '/v1/table/bench$sized-64m/query',
  },
  {
    ...down,
    name: 'download-64m-chunked',
    what: 'the same in chunks of 64 KiB',
    path: '/v1/table/bench$chunked-64m/query',
  },
]
