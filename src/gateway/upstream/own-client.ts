import { lancedbDatabaseHeader, lancedbPrefixHeader } from '../../catalog-api/headers.ts'
import { defaultDelimiter, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { buildTarget } from '../../catalog-api/request-target.ts'
import { createHttp1Client } from '../../http1/client/http1-client.ts'
import { sendRequest, type BufferedResponse } from '../../http1/client/send-request.ts'
import type { Followed } from '../../lib/fs/follow-files.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import type { SocketOpener } from '../../lib/outbound/socket-opener.ts'
import { ownOperations } from './own-operations.ts'

/** How the gateway reaches an upstream for itself. */
export interface UpstreamAccess {
  /** `http` or `https`, with an optional path that is prepended to every route. */
  readonly url: string
  /** Opens connections to it. */
  readonly opener: SocketOpener
  /** Joins the parts of an id. */
  readonly delimiter?: string | undefined
  /** Credential of the gateway: header names and values in turn. */
  readonly credentials: Followed<readonly string[]>
  /** Database of a LanceDB server and its prefix: `sales/eu`. */
  readonly database?: string | undefined
}

/** Sends single requests of the gateway itself to an upstream, over connections of its own. */
export interface OwnClient {
  /** `target` is without the base path of the upstream. A body is JSON. Rejects without a whole response in time. */
  send(method: 'GET' | 'POST', target: string, body?: Buffer): Promise<BufferedResponse>
  /** Sends an operation with JSON members. */
  call(operation: Operation, id: Identifier, members: object): Promise<BufferedResponse>
  /** Sends the cheapest read that every catalog has and that reaches its store. */
  probe(): Promise<BufferedResponse>
  close(): void
}

const maxResponseBytes = 16 * 1024 * 1024

/** `timeoutMs` is for each whole response. */
export function openOwnClient(
  access: UpstreamAccess,
  connectTimeoutMs: number,
  timeoutMs: number,
): OwnClient {
  const url = new URL(access.url)
  const { opener, delimiter = defaultDelimiter } = access
  const getHeaders = createOwnHeaders(access)
  const timeouts = {
    connectTimeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
  }
  const client = createHttp1Client({ url, opener, timeouts })
  const send: OwnClient['send'] = (method, target, body) => {
    const type = body === undefined ? [] : ['content-type', 'application/json']
    const headers = [...getHeaders(), ...type]
    const request = { method, path: getBasePath(url) + target, headers, body: body ?? null }
    return sendRequest(client, request, maxResponseBytes, AbortSignal.timeout(timeoutMs))
  }
  const targetOf = (operation: Operation, id: Identifier, parameters: ReadonlyMap<string, string>): string =>
    buildTarget({ operation, id, delimiter, indexName: undefined, parameters }, delimiter)
  return {
    send,
    call(operation, id, members) {
      const target = targetOf(operation, id, new Map())
      if (operation.method === 'GET') return send('GET', target)
      return send('POST', target, Buffer.from(JSON.stringify({ id, ...members })))
    },
    probe: () => send('GET', targetOf(ownOperations.listNamespaces, [], new Map([['limit', '1']]))),
    close: () => client.close(),
  }
}

/** Returns what returns the headers of every request to an upstream: names and values in turn. */
export function createOwnHeaders({
  credentials,
  database,
}: Pick<UpstreamAccess, 'credentials' | 'database'>): () => readonly string[] {
  const databaseHeaders = createDatabaseHeaders(database)
  return () => ['accept-encoding', 'identity', ...credentials.current, ...databaseHeaders]
}

function createDatabaseHeaders(database: string | undefined): string[] {
  if (database === undefined) return []
  const slash = database.indexOf('/')
  if (slash === -1) return [lancedbDatabaseHeader, database]
  return [lancedbDatabaseHeader, database.slice(0, slash), lancedbPrefixHeader, database.slice(slash + 1)]
}
