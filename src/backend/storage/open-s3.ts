import { randomUUID } from 'node:crypto'
import { S3Client } from '@aws-sdk/client-s3'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { toError } from 'catalog-gateway/lib'
import { createHttpAgent, listDefaultAuthorities, type Outbound } from 'catalog-gateway/outbound'
import type { S3Settings } from '../settings/backend-settings.ts'
import { createS3Storage } from './s3-storage.ts'
import type { Storage } from './storage.ts'

const connectTimeoutMs = 5_000
const requestTimeoutMs = 30_000
const maxAttempts = 3
const maxConnections = 64

/**
 * Uses the credentials of the environment, in the order of AWS's own tools. Rejects with a plain error if the store
 * cannot be used, or ignores conditional writes, which keep writers from overwriting each other.
 */
export async function openS3(settings: S3Settings, outbound: Outbound) {
  // Its notice about newer Node versions is for developers, not for operators.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
  const { location: root, endpoint, virtualHostedStyle } = settings
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env
  const region = settings.region ?? AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1'
  const opener = await outbound.openClient('data.s3', {})
  const createAgent = (protocol: string) =>
    createHttpAgent(protocol, opener, connectTimeoutMs, { keepAlive: true, maxSockets: maxConnections })
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: !virtualHostedStyle,
    maxAttempts,
    // Not every store supports the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
      httpAgent: createAgent('http:'),
      httpsAgent: createAgent('https:'),
    },
  })
  // Without credentials: the engine finds and renews those of the environment itself.
  const engineOptions = addOutboundOptions(
    {
      aws_region: region,
      aws_virtual_hosted_style_request: String(virtualHostedStyle),
      ...(endpoint !== undefined && {
        aws_endpoint: endpoint,
        allow_http: String(endpoint.startsWith('http:')),
      }),
      connect_timeout: `${connectTimeoutMs} ms`,
      timeout: `${requestTimeoutMs} ms`,
      client_max_retries: String(maxAttempts - 1),
      client_retry_timeout: String(requestTimeoutMs / 1000),
    },
    endpoint ?? `https://s3.${region}.amazonaws.com`,
    await listDefaultAuthorities(process.env),
    outbound,
  )
  const storage = createS3Storage(client, root, engineOptions)
  try {
    await requireConditionalWrites(storage, root)
    return { storage, root, close: () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw unusableStorageError(root, error)
  }
}

async function requireConditionalWrites(storage: Storage, root: string): Promise<void> {
  const file = `${root}/checks/${randomUUID()}`
  const isCreated = await storage.create(file, Buffer.from('first'))
  const isReplaced = await storage.create(file, Buffer.from('second'))
  await storage.remove(file)
  if (!isCreated || isReplaced)
    throw new Error('it ignores If-None-Match, so concurrent writers would overwrite each other')
}

/** The reason, with the code of the store or of the network, is the cause: the program prints causes at startup. */
function unusableStorageError(root: string, error: unknown): Error {
  const reason = toError(error instanceof CatalogError ? error.cause : error)
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : reason.name
  const cause = new Error(`${code}: ${reason.message}`, { cause: error })
  return new Error(`the object store at ${root} cannot be used`, { cause })
}

type EngineOptions = Readonly<Record<string, string>>

/**
 * Adds to the options of the engine, which opens connections of its own, the proxy of `endpoint` and the trusted
 * authorities, by default `authorities`. The returned function returns the same object until one of them changes.
 */
export function addOutboundOptions(
  options: EngineOptions,
  endpoint: string,
  authorities: readonly string[],
  { findProxy, getTlsOptions }: Pick<Outbound, 'findProxy' | 'getTlsOptions'>,
): () => EngineOptions {
  const { protocol, hostname, port } = new URL(endpoint)
  const isSecure = protocol === 'https:'
  const target = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  }
  const proxy = findProxy(target)
  let last:
    | { readonly authorization: string | undefined; readonly ca: unknown; readonly options: EngineOptions }
    | undefined
  return () => {
    const authorization = proxy?.authorization.current
    const { ca = authorities } = getTlsOptions({})
    if (last === undefined || last.authorization !== authorization || last.ca !== ca) {
      const added = {
        // An exception for the host keeps the engine from finding a proxy in the environment by rules of its own.
        ...(proxy === undefined
          ? { proxy_url: 'http://localhost', proxy_excludes: target.host }
          : { proxy_url: addUser(proxy.url, authorization) }),
        // The engine trusts it for all connections, but ignores it without `proxy_url`.
        proxy_ca_certificate: [ca].flat().join('\n'),
      }
      last = { authorization, ca, options: { ...options, ...added } }
    }
    return last.options
  }
}

/** `authorization` has the scheme Basic. */
function addUser(proxy: URL, authorization: string | undefined): string {
  if (authorization === undefined) return proxy.href
  const pair = Buffer.from(authorization.slice('Basic '.length), 'base64').toString()
  const [user = ''] = pair.split(':', 1)
  const url = new URL(proxy)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(pair.slice(user.length + 1))
  return url.href
}
