import { randomUUID } from 'node:crypto'
import { S3Client } from '@aws-sdk/client-s3'
import type { OpenedStorage } from './storage.ts'
import { describeStorageError } from './s3-errors.ts'
import { openClientOptions } from './client-storage-options.ts'
import { createS3Storage } from './s3-storage.ts'
import type { S3Settings } from '../../config/backend/storage-settings.ts'
import type { Storage } from './storage.ts'

const connectTimeoutMs = 5_000
const requestTimeoutMs = 30_000
const maxAttempts = 3
const maxConnections = 64

/**
 * Opens an object store, with the credentials of the environment as AWS's own programs find them. Rejects with a
 * plain error where it cannot be used, or ignores conditional writes, by which writers do not replace each other's.
 */
export async function openS3(settings: S3Settings): Promise<OpenedStorage> {
  // Its notice that a coming version needs a newer Node is for those who pin the version, not for operators.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
  const { location: root, endpoint, virtualHostedStyle } = settings
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env
  const region = settings.region ?? AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1'
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: !virtualHostedStyle,
    maxAttempts: maxAttempts,
    // Not every store knows the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
      httpAgent: { maxSockets: maxConnections },
      httpsAgent: { maxSockets: maxConnections },
    },
  })
  const place = endpointOptions(settings, region)
  const storage = createS3Storage(client, root, { ...place, ...timeoutOptions })
  try {
    await requireConditionalWrites(storage, root)
    const getClientOptions = await openClientOptions(client, settings, region, place)
    return { storage, root, getClientOptions, close: () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw unusableStorageError(root, error)
  }
}

/** How long the engine waits for the store. */
const timeoutOptions = {
  connect_timeout: `${connectTimeoutMs} ms`,
  timeout: `${requestTimeoutMs} ms`,
  client_max_retries: String(maxAttempts - 1),
  client_retry_timeout: String(requestTimeoutMs / 1000),
}

/**
 * Where the store is, by the names of Lance's storage options. The credentials are not among them: the engine finds
 * those in the environment itself, and new ones in time.
 */
function endpointOptions(
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
  const [first, second] = ['first', 'second'].map((text) => Buffer.from(text)) as [Buffer, Buffer]
  const isCreated = await storage.create(file, first)
  const isReplaced = await storage.create(file, second)
  await storage.remove(file)
  if (!isCreated || isReplaced)
    throw new Error('it ignores If-None-Match, so concurrent writers would overwrite each other')
}

/** The reason is the cause, as those who start programs show it. */
function unusableStorageError(root: string, error: unknown): Error {
  const cause = new Error(describeStorageError(error), { cause: error })
  return new Error(`the object store at ${root} cannot be used`, { cause })
}
