import { readFile } from 'node:fs/promises'
import { Pool, type Dispatcher } from 'undici'
import { CatalogError, invalidInput } from '../../catalog-api/catalog-error.ts'
import { readPemFile } from '../../lib/tls/pem-file.ts'
import { getOperation, type BuiltInOperation, type OperationName } from '../../catalog-api/operations.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import { isObject } from '../../lib/json/is-object.ts'
import type { CatalogCall, Catalog } from '../contract/catalog.ts'
import { readResponse, toTransportError } from './read-response.ts'
import { buildRequest, type RemoteEndpoint, type RemoteRequest } from './build-request.ts'
import { convertToLanceSchema } from './lance-schema.ts'
import type { RemoteSettings } from '../../config/backend/remote-catalog-settings.ts'

const probeTimeoutMs = 2_000
/** Bounds the wait for a connection: each earlier request ends within the timeouts. */
const maxPendingRequests = 1024
/** Limit for changes of disconnected clients during shutdown. */
const shutdownTimeoutMs = 10_000

/** Sends nothing before the first request. Rejects if a file of the settings cannot be read. */
export async function openRemoteCatalog(settings: RemoteSettings): Promise<Catalog> {
  const url = new URL(settings.url)
  const endpoint: RemoteEndpoint = {
    basePath: getBasePath(url),
    delimiter: settings.delimiter,
    headerDialect: settings.headerDialect,
    credential: await readCredential(settings),
  }
  const pool = await openPool(url.origin, settings)
  return {
    execute: (name, call) => executeRemotely(pool, getOperation(name), call, endpoint),
    checkReady: () => checkReachable(pool, endpoint.basePath),
    isAlive: () => true,
    close: async () => {
      const timer = setTimeout(() => void pool.destroy(), shutdownTimeoutMs)
      // A destroyed pool counts as closed.
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

/** A disconnect cancels a read, but not a change: its outcome would be unknown. Throws ServiceUnavailable (503). */
async function executeRemotely(
  pool: Pool,
  operation: BuiltInOperation,
  call: CatalogCall<OperationName>,
  endpoint: RemoteEndpoint,
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
  const request = buildRequest(operation, call, endpoint)
  const signal = operation.effect === 'read' ? call.caller.signal : undefined
  try {
    const response = await sendRequest(pool, operation, { ...request, ...(signal && { signal }) })
    const result = await readResponse(
      operation,
      response,
      endpoint.credential !== undefined,
      Object.entries(request.headers).flat(),
    )
    const needsLanceSchema = operation.name === 'DescribeTable' && call.schemaDialect === 'lance'
    return needsLanceSchema && isObject(result) ? convertToLanceSchema(result) : result
  } catch (error) {
    if (error instanceof CatalogError) throw error
    if (call.caller.signal.aborted) throw invalidInput('the client closed the connection', { cause: error })
    throw toTransportError(error)
  }
}

/** Retries a read once if an idle connection was closed; reads have no upload. */
async function sendRequest(
  pool: Pool,
  operation: BuiltInOperation,
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

/** Any response that is not a proxy failure shows that the catalog is reachable. */
async function checkReachable(pool: Pool, basePath: string): Promise<void> {
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
