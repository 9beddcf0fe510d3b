import { readFile } from 'node:fs/promises'
import { Pool, type Dispatcher } from 'undici'
import { CatalogError, invalidInput } from '../../catalog-api/catalog-error.ts'
import { readPemFile } from '../../lib/tls/pem-file.ts'
import {
  getOperation,
  operationNames,
  type Operation,
  type OperationName,
} from '../../catalog-api/operations.ts'
import type { CatalogCall, Catalog, CatalogOperations, RequestMembers } from '../contract/catalog.ts'
import { readResponse, toTransportError } from './read-response.ts'
import { buildRequest, type RemoteTarget, type RemoteRequest } from './build-request.ts'
import { convertToLanceSchema } from './lance-schema.ts'
import type { RemoteSettings } from '../../config/backend/remote-catalog-settings.ts'

/** How long a probe for readiness may take. */
const probeTimeoutMs = 2_000
/** How many requests may wait for a connection; each one before them ends within the timeouts. */
const maxPendingRequests = 1024
/** How long changes whose clients have left may go on when the catalog is closed. */
const shutdownTimeoutMs = 10_000

/**
 * Opens a client of a server of the interface. Nothing is sent before the first request. Rejects when a file of the
 * settings cannot be read.
 */
export async function openRemoteCatalog(settings: RemoteSettings): Promise<Catalog> {
  const { origin, pathname } = new URL(settings.url)
  const dialect: RemoteTarget = {
    basePath: pathname.replace(/\/$/, ''),
    delimiter: settings.delimiter,
    credential: await readCredential(settings),
  }
  const pool = await openPool(origin, settings)
  const methods = operationNames.map((name) => {
    const operation = getOperation(name)
    return [name, (call: CatalogCall<OperationName>) => executeRemotely(pool, operation, call, dialect)]
  })
  return {
    // Every method takes and answers what the table of operations says, which the compiler cannot follow.
    ...(Object.fromEntries(methods) as CatalogOperations),
    checkReady: () => probe(pool, dialect.basePath),
    isAlive: () => true,
    close: async () => {
      const timer = setTimeout(() => void pool.destroy(), shutdownTimeoutMs)
      // Being destroyed is one way of being closed.
      await pool.close().catch(() => undefined)
      clearTimeout(timer)
    },
  }
}

async function openPool(origin: string, settings: RemoteSettings): Promise<Pool> {
  const { caFile, maxConnections, timeouts } = settings
  return new Pool(origin, {
    connections: maxConnections,
    pipelining: 1,
    connect: {
      timeout: timeouts.connectTimeoutMs,
      rejectUnauthorized: true,
      ...(caFile !== undefined && {
        ca: await readPemFile(caFile, 'CERTIFICATE'),
      }),
    },
    headersTimeout: timeouts.responseHeadersTimeoutMs,
    bodyTimeout: timeouts.responseBodyTimeoutMs,
  })
}

async function readCredential({
  credential,
}: RemoteSettings): Promise<readonly [string, string] | undefined> {
  if (credential === undefined) return undefined
  const text = credential.file === undefined ? credential.value : await readFile(credential.file, 'utf8')
  return [credential.header, (text ?? '').trim()]
}

/**
 * Sends a request and reads its answer. A read ends when the client leaves; a change goes on, for nobody could say
 * what became of it. Throws ServiceUnavailable (503) where too many requests wait already.
 */
async function executeRemotely(
  pool: Pool,
  operation: Operation,
  call: CatalogCall<OperationName>,
  dialect: RemoteTarget,
): Promise<unknown> {
  if (pool.stats.queued >= maxPendingRequests) {
    throw new CatalogError(
      'ServiceUnavailable',
      'too many pending requests to the remote catalog; retry later',
      {
        headers: { 'retry-after': '1' },
      },
    )
  }
  const request = buildRequest(operation, call, dialect)
  const signal = operation.effect === 'read' ? call.caller.signal : undefined
  try {
    const response = await sendRequest(pool, operation, { ...request, ...(signal && { signal }) })
    const answer = await readResponse(
      operation,
      response,
      dialect.credential !== undefined,
      Object.entries(request.headers).flat(),
    )
    const isReported = operation.name === 'DescribeTable' && call.schemaDialect === 'lance'
    return isReported ? convertToLanceSchema(answer as RequestMembers) : answer
  } catch (error) {
    if (error instanceof CatalogError) throw error
    if (call.caller.signal.aborted) throw invalidInput('the client closed the connection', { cause: error })
    throw toTransportError(error)
  }
}

/** A read is sent again, once, where an idle connection turned out to be closed; no read has an upload. */
async function sendRequest(
  pool: Pool,
  operation: Operation,
  request: RemoteRequest & { readonly signal?: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  try {
    return await pool.request(request)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (operation.effect !== 'read' || (code !== 'UND_ERR_SOCKET' && code !== 'ECONNRESET')) throw error
    return await pool.request(request)
  }
}

/** Any answer but one of a failed proxy shows that somebody is there. */
async function probe(pool: Pool, basePath: string): Promise<void> {
  const { method, path } = getOperation('ListAllTables')
  const target = `${basePath}${path}?limit=1`
  let status: number
  try {
    const { statusCode, body } = await pool.request({
      method,
      path: target,
      signal: AbortSignal.timeout(probeTimeoutMs),
    })
    status = statusCode
    await body.dump()
  } catch (error) {
    throw toTransportError(error)
  }
  if (status >= 500) {
    throw new CatalogError('ServiceUnavailable', `the remote catalog returned status ${status}`)
  }
}
