import type { Credential } from './peer.ts'

/** Small requests of one kind, repeated over persistent connections. */
export interface SmallWorkload {
  readonly kind: 'small'
  readonly path: string
  readonly connections: number
  /** Number of tables requested in turn; by default only that of the path. */
  readonly tables?: number
  /** Whether the request has a small JSON body. */
  readonly hasQuery?: boolean
  /** Whether each request has another token. */
  readonly hasManyTokens?: boolean
  /** Whether every response must be 403. */
  readonly isRefused?: boolean
  /** Factor of the duration; by default 1. */
  readonly duration?: number
}

/** Bodies of 64 MiB, one after the other on each of four connections. */
export interface BulkWorkload {
  readonly kind: 'bulk'
  readonly transfer: Transfer
}

/** 500 small requests a second, beside two connections that transfer bodies of 256 MiB. */
export interface BesideWorkload {
  readonly kind: 'beside'
  readonly transfer: Transfer
}

export type Transfer = 'download' | 'upload' | 'upload-chunked'

export type Workload = (SmallWorkload | BulkWorkload | BesideWorkload) & {
  readonly name: string
  /** Description for the results. */
  readonly what: string
  /** The only credential for it; by default any that the server can verify. */
  readonly credential?: Credential
  /** Whether the upstream without a server in front of it is measured too. */
  readonly hasDirect?: boolean
}

export const smallReadPath = '/v1/table/bench$small/version/list'
export const refusedPath = '/v1/table/secret$small/version/list'
export const uploadPath = '/v1/table/bench$small/insert'
const queryPath = '/v1/table/bench$small/query'

const usual = { kind: 'small', connections: 32, tables: 100 } as const

export const workloads: readonly Workload[] = [
  {
    ...usual,
    name: 'key',
    what: 'a small read with an API key: ListTableVersions of a hundred tables in turn, 32 connections',
    path: smallReadPath,
    credential: 'key',
  },
  {
    ...usual,
    name: 'token',
    what: 'a small JSON call with one RS256 token: QueryTable, 32 connections',
    path: queryPath,
    credential: 'token',
    hasQuery: true,
  },
  {
    ...usual,
    name: 'tokens',
    what: 'the same with 10,000 RS256 tokens in turn',
    path: queryPath,
    credential: 'token',
    hasQuery: true,
    hasManyTokens: true,
  },
  {
    ...usual,
    name: 'refusals',
    what: 'a small read that is denied by its path (403), 32 connections',
    path: refusedPath,
    isRefused: true,
  },
  {
    ...usual,
    name: 'connections',
    what: 'the small read over 1,000 connections',
    path: smallReadPath,
    connections: 1_000,
    // Opening the connections is to count little.
    duration: 2,
    hasDirect: true,
  },
  { kind: 'bulk', name: 'download', what: 'a response of 64 MiB, 4 connections', transfer: 'download' },
  { kind: 'bulk', name: 'upload', what: 'an upload of 64 MiB of Arrow, 4 connections', transfer: 'upload' },
  {
    kind: 'bulk',
    name: 'upload-chunked',
    what: 'the same in chunks of 64 KiB',
    transfer: 'upload-chunked',
  },
  {
    kind: 'beside',
    name: 'beside-downloads',
    what: '500 small reads a second beside two downloads of 256 MiB at a time',
    transfer: 'download',
    hasDirect: true,
  },
  {
    kind: 'beside',
    name: 'beside-uploads',
    what: '500 small reads a second beside two uploads of 256 MiB at a time',
    transfer: 'upload',
    hasDirect: true,
  },
]
