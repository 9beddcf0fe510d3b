import {
  assertSeparable,
  buildTarget,
  getOperation,
  type Identifier,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  listSeparators,
  type Operation,
} from '../../catalog-api/index.ts'
import { type BufferedResponse, createHttp1Client, sendRequest } from '../../http1/index.ts'
import { type Followed, getBasePath, getMembers, withoutByteOrderMark } from '../../lib/index.ts'
import type { SocketOpener } from '../../outbound/index.ts'
import type { UpstreamSettings } from '../../config/index.ts'

/**
 * The operations that the gateway sends itself, for health checks, in-doubt changes, the console, `check --probe` and
 * `audit compare`. All are reads.
 */
export const ownOperations = {
  describeTable: getOperation('DescribeTable'),
  describeVersion: getOperation('DescribeTableVersion'),
  listNamespaces: getOperation('ListNamespaces'),
  listBranches: getOperation('ListTableBranches'),
  listTables: getOperation('ListTables'),
  listVersions: getOperation('ListTableVersions'),
}

/** The settings of an upstream, with the content of their files. */
export type UpstreamAccess = UpstreamSettings & {
  /** Opens connections to it. */
  readonly opener: SocketOpener
  /** Credential of the gateway: header names and values in turn. */
  readonly credentials: Followed<readonly string[]>
}

/** A read that the gateway sends for itself. */
export interface OwnRequest {
  readonly operation: Operation
  readonly id: Identifier
  readonly parameters?: ReadonlyMap<string, string>
  /** Members of the JSON body. */
  readonly body?: object
}

const maxResponseBytes = 16 * 1024 * 1024
/** For each whole response: a count may read a whole table. */
const timeoutMs = 30_000
/** Bounds a listing that never ends. */
const maxPages = 100_000

export type OwnClient = ReturnType<typeof openOwnClient>

/**
 * Opens a client for single requests of the gateway itself to an upstream, over connections of its own: a saturated
 * connection pool does not delay them. Every method rejects without a whole response in time, and on abort.
 */
export function openOwnClient(access: UpstreamAccess, connectTimeoutMs: number) {
  const url = new URL(access.url)
  const { opener, credentials, delimiter } = access
  const getHeaders = createOwnHeaders(access)
  const timeouts = {
    connectTimeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
  }
  const client = createHttp1Client({ url, opener, timeouts })

  async function dispatch(
    method: 'GET' | 'POST',
    target: string,
    body: Buffer | null,
    signal = new AbortController().signal,
  ): Promise<BufferedResponse> {
    const type = body === null ? [] : ['content-type', 'application/json']
    const headers = [...getHeaders(), ...type]
    const request = { method, path: getBasePath(url) + target, headers, body }
    const response = await sendRequest(client, request, maxResponseBytes, signal)
    if (response.status === 401) await credentials.refresh()
    return response
  }

  async function send(
    { operation, id, parameters = new Map(), body }: OwnRequest,
    signal?: AbortSignal,
  ): Promise<BufferedResponse> {
    assertSeparable(id, listSeparators(delimiter))
    const target = buildTarget({ operation, id, delimiter, indexName: undefined, parameters }, delimiter)
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body))
    return dispatch(operation.method, target, bytes, signal)
  }

  /** Sends a request, and parses the JSON of the response. Rejects with SyntaxError if it is none. */
  async function readJson(request: OwnRequest, signal?: AbortSignal) {
    const { status, body } = await send(request, signal)
    return { status, body: JSON.parse(String(withoutByteOrderMark(body))) as unknown }
  }

  return {
    /** Returns the headers of every request, such as the credential of the gateway and the database: names and values in turn. */
    getHeaders,
    /** `target` is without the base path of the upstream. */
    get: (target: string, signal?: AbortSignal) => dispatch('GET', target, null, signal),
    send,
    readJson,
    /** Yields the responses of a listing, page by page, like `readJson`. */
    async *readPages(operation: Operation, id: Identifier, { limit = 1_000, branch = '' } = {}) {
      let token: string | undefined
      for (let pages = 0; pages < maxPages; pages += 1) {
        const parameters = new Map([['limit', String(limit)]])
        if (branch !== '') parameters.set('branch', branch)
        if (token !== undefined) parameters.set('page_token', token)
        const response = await readJson({ operation, id, parameters })
        yield response
        const next = getMembers(response.body)['page_token']
        if (typeof next !== 'string' || next === '' || next === token) return
        token = next
      }
      throw new Error(`the upstream responded to ${operation.name} with more than ${maxPages} pages`)
    },
    /** Sends the cheapest read that every catalog has and that reaches its store. */
    probe: (signal?: AbortSignal) =>
      send(
        { operation: ownOperations.listNamespaces, id: [], parameters: new Map([['limit', '1']]) },
        signal,
      ),
    close: (): void => client.close(),
  }
}

function createOwnHeaders({ credentials, database }: UpstreamAccess): () => readonly string[] {
  // The database of a LanceDB server and its prefix: `sales/eu`.
  const [, name, prefix] = /^([^/]*)(?:\/(.*))?$/.exec(database ?? '') ?? []
  const ofDatabase = [
    ...(database === undefined ? [] : [lancedbDatabaseHeader, name ?? '']),
    ...(prefix === undefined ? [] : [lancedbPrefixHeader, prefix]),
  ]
  return () => ['accept-encoding', 'identity', ...credentials.current, ...ofDatabase]
}
