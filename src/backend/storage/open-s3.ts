import { randomUUID } from 'node:crypto'
import { S3Client } from '@aws-sdk/client-s3'
import type { OpenedStorage } from './open-storage.ts'
import { describeTrouble } from './s3-errors.ts'
import { openClientOptions } from './s3-client-options.ts'
import { s3Objects } from './s3-objects.ts'
import type { S3Settings } from './data-settings.ts'
import type { Storage } from './storage.ts'

const connectMs = 5_000
const answerMs = 30_000
const attempts = 3
const maximumConnections = 64

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
    maxAttempts: attempts,
    // Not every store knows the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: answerMs,
      httpAgent: { maxSockets: maximumConnections },
      httpsAgent: { maxSockets: maximumConnections },
    },
  })
  const place = placeOptions(settings, region)
  const storage = s3Objects(client, root, { ...place, ...patience })
  try {
    await requireConditionalWrites(storage, root)
    const clientOptions = await openClientOptions(client, settings, region, place)
    return { storage, root, clientOptions, close: () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw unusable(root, error)
  }
}

/** How long the engine waits for the store. */
const patience = {
  connect_timeout: `${connectMs} ms`,
  timeout: `${answerMs} ms`,
  client_max_retries: String(attempts - 1),
  client_retry_timeout: String(answerMs / 1000),
}

/**
 * Where the store is, by the names of Lance's storage options. The credentials are not among them: the engine finds
 * those in the environment itself, and new ones in time.
 */
function placeOptions(
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
function unusable(root: string, error: unknown): Error {
  const cause = new Error(describeTrouble(error), { cause: error })
  return new Error(`the object store at ${root} cannot be used`, { cause })
}
