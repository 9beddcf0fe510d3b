import { Pool, type Dispatcher } from 'undici'
import {
  type BuiltInOperation,
  CatalogError,
  getOperation,
  invalidInput,
  type OperationName,
  operationSchemas,
} from 'catalog-gateway/catalog-api'
import {
  createUndiciConnector,
  fixed,
  type Followed,
  getBasePath,
  isObject,
  type Outbound,
  readHeaderValue,
} from 'catalog-gateway/lib'
import type { z } from 'zod'
import type { CatalogCall, Catalog, RequestMembers } from '../contract/catalog.ts'
import { readResponse, toTransportError } from './read-response.ts'
import { buildRequest, type RemoteEndpoint, type RemoteRequest } from './build-request.ts'
import type { RemoteSettings } from '../settings/remote-catalog-settings.ts'
import { toLanceType } from '../engine/schema/lance-type.ts'

const tableSchemaSchema = operationSchemas.DescribeTable.response.shape.schema

const probeTimeoutMs = 2_000
/** Bounds the wait for a connection: each earlier request ends within the timeouts. */
const maxPendingRequests = 1024
/** Limit for changes of disconnected clients during shutdown. */
const shutdownTimeoutMs = 10_000

/** Sends nothing before the first request. Rejects if a file of the settings cannot be read. */
export async function openRemoteCatalog(settings: RemoteSettings, outbound: Outbound): Promise<Catalog> {
  const url = new URL(settings.url)
  const endpoint: RemoteEndpoint = {
    basePath: getBasePath(url),
    delimiter: settings.delimiter,
    headerDialect: settings.headerDialect,
    credential: await followCredential(settings, outbound),
  }
  const pool = await openPool(url.origin, settings, outbound)
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

const connectTimeoutMs = 5_000

async function openPool(origin: string, settings: RemoteSettings, outbound: Outbound): Promise<Pool> {
  const { caFile, maxConnections, timeouts } = settings
  const opener = await outbound.openClient('catalog.remote', { caFile })
  return new Pool(origin, {
    connections: maxConnections,
    pipelining: 1,
    connect: createUndiciConnector(opener, connectTimeoutMs),
    headersTimeout: timeouts.responseHeadersTimeoutMs,
    bodyTimeout: timeouts.responseBodyTimeoutMs,
  })
}

async function followCredential(
  { credential }: RemoteSettings,
  { follow }: Outbound,
): Promise<Followed<readonly [string, string] | undefined>> {
  if (credential === undefined) return fixed(undefined)
  const { header, file, value = '' } = credential
  if (file === undefined) return fixed([header, value.trim()])
  return follow({
    setting: 'catalog.remote.credential.file',
    files: [file],
    read: async () => [header, await readHeaderValue(file)] as const,
  })
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
  // A call has no ranges and no conditions.
  if (operation.response === 'bytes')
    throw new CatalogError('Unsupported', `this catalog does not forward the operation ${operation.name}`)
  const request = buildRequest(operation, call, endpoint)
  const signal = operation.effect === 'read' ? call.caller.signal : undefined
  try {
    const response = await sendRequest(pool, operation, { ...request, ...(signal && { signal }) })
    if (response.statusCode === 401) await endpoint.credential.refresh()
    const result = await readResponse(
      operation,
      response,
      endpoint.credential.current !== undefined,
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

/** Missing units default to microseconds. Throws Unsupported (406) for a schema that cannot be converted. */
function convertToLanceSchema(response: RequestMembers): RequestMembers {
  const parsed = tableSchemaSchema.safeParse(response['schema'] ?? undefined)
  if (!parsed.success) throw unsupportedSchemaError(parsed.error)
  return parsed.data === undefined ? response : { ...response, schema: convertTypes(parsed.data) }
}

function convertTypes(schema: NonNullable<z.output<typeof tableSchemaSchema>>) {
  try {
    return { ...schema, fields: schema.fields.map((field) => ({ ...field, type: toLanceType(field.type) })) }
  } catch (error) {
    throw unsupportedSchemaError(error)
  }
}

function unsupportedSchemaError(cause: unknown): CatalogError {
  return new CatalogError('Unsupported', 'the schema of the table cannot be represented for this client', {
    cause,
  })
}
