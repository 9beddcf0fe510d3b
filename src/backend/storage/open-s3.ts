import { randomUUID } from 'node:crypto'
import { S3Client } from '@aws-sdk/client-s3'
import { createHttpAgent, listDefaultAuthorities, type Outbound } from 'catalog-gateway/lib'
import type { OpenedStorage } from './storage.ts'
import { describeStorageError } from './s3-errors.ts'
import { openClientOptions } from './client-storage-options.ts'
import { addOutboundOptions } from './engine-options.ts'
import { createS3Storage } from './s3-storage.ts'
import type { S3Settings } from '../settings/storage-settings.ts'
import type { Storage } from './storage.ts'

const connectTimeoutMs = 5_000
const requestTimeoutMs = 30_000
const maxAttempts = 3
const maxConnections = 64

/**
 * Uses the credentials of the environment, in the order of AWS's own tools. Rejects with a plain error if the store
 * cannot be used, or ignores conditional writes, which keep writers from overwriting each other.
 */
export async function openS3(settings: S3Settings, outbound: Outbound): Promise<OpenedStorage> {
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
  const storageOptions = buildEndpointOptions(settings, region)
  const engineOptions = addOutboundOptions(
    { ...storageOptions, ...timeoutOptions },
    endpoint ?? `https://s3.${region}.amazonaws.com`,
    await listDefaultAuthorities(process.env),
    outbound,
  )
  const storage = createS3Storage(client, root, engineOptions)
  try {
    await requireConditionalWrites(storage, root)
    const getClientOptions = await openClientOptions(client, settings, region, storageOptions, opener)
    return { storage, root, getClientOptions, close: () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw unusableStorageError(root, error)
  }
}

const timeoutOptions = {
  connect_timeout: `${connectTimeoutMs} ms`,
  timeout: `${requestTimeoutMs} ms`,
  client_max_retries: String(maxAttempts - 1),
  client_retry_timeout: String(requestTimeoutMs / 1000),
}

/** Excludes credentials: the engine finds and renews those of the environment itself. */
function buildEndpointOptions(
  { endpoint, virtualHostedStyle }: S3Settings,
  region: string,
): Readonly<Record<string, string>> {
  return {
    aws_region: region,
    aws_virtual_hosted_style_request: String(virtualHostedStyle),
    ...(endpoint !== undefined && {
      aws_endpoint: endpoint,
      allow_http: String(endpoint.startsWith('http:')),
    }),
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

/** The reason is the cause, because the program prints causes at startup. */
function unusableStorageError(root: string, error: unknown): Error {
  const cause = new Error(describeStorageError(error), { cause: error })
  return new Error(`the object store at ${root} cannot be used`, { cause })
}
