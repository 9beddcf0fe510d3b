import { randomUUID } from 'node:crypto'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { Agent } from 'undici'
import { createUndiciConnector, type SocketOpener } from 'catalog-gateway/lib'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { LRUCache } from 'lru-cache'
import { assumeRole, type TemporaryCredentials } from './assume-role.ts'
import type { S3Settings } from '../settings/storage-settings.ts'
import type { GetClientOptions } from './storage.ts'
import { describeStorageError, getHttpStatus } from './s3-errors.ts'
import { buildSessionPolicy } from './session-policy.ts'

type IssueCredentials = (location: string) => Promise<TemporaryCredentials>

/** Each takes a few kilobytes. */
const maxCachedCredentials = 4096

const stsConnectTimeoutMs = 5_000

/**
 * Creates the storage options for clients; they never include the catalog's own credentials. Rejects with a plain error
 * if the role cannot be assumed, or if the store does not enforce the session policy.
 */
export async function openClientOptions(
  client: S3Client,
  settings: S3Settings,
  region: string,
  endpointOptions: Readonly<Record<string, string>>,
  opener: SocketOpener,
): Promise<GetClientOptions> {
  const { mode, roleArn, durationSeconds } = settings.vending
  if (mode === 'none') return async () => undefined
  if (roleArn === undefined) return async () => endpointOptions
  const issue = createCredentialIssuer(client, settings, region, roleArn, opener)
  await verifyConfinement(client, settings.location, region, issue)
  const getCredentials = cacheCredentials(issue, durationSeconds)
  return async (location, wantsCredentials) => {
    if (!wantsCredentials) return endpointOptions
    const credentials = await getCredentials(location).catch((error: unknown) => {
      throw toIssueError(error)
    })
    return {
      ...endpointOptions,
      aws_access_key_id: credentials.accessKeyId,
      aws_secret_access_key: credentials.secretAccessKey,
      aws_session_token: credentials.sessionToken,
      expires_at_millis: String(credentials.expiresAtMillis),
    }
  }
}

function createCredentialIssuer(
  client: S3Client,
  { endpoint: dataEndpoint, vending }: S3Settings,
  region: string,
  role: string,
  opener: SocketOpener,
): IssueCredentials {
  const { access, durationSeconds, stsEndpoint } = vending
  const endpoint = stsEndpoint ?? dataEndpoint ?? `https://sts.${region}.amazonaws.com`
  const dispatcher = new Agent({ connect: createUndiciConnector(opener, stsConnectTimeoutMs) })
  const partition = role.split(':')[1] ?? ''
  return async (location) => {
    const policy = buildSessionPolicy(location, access, partition)
    if (policy === undefined) {
      throw new CatalogError(
        'Unsupported',
        'the location of the table is too long for temporary credentials; send vend_credentials=false',
      )
    }
    return await assumeRole(client, {
      endpoint,
      region,
      role,
      sessionName: buildSessionName(location),
      policy,
      seconds: durationSeconds,
      dispatcher,
    })
  }
}

/** Shows in the store's log which table the credentials are for. */
function buildSessionName(location: string): string {
  const name = location.split('/').at(-1) ?? ''
  return `catalog-${name.replace(/\.lance$/, '')}`.slice(0, 64)
}

/** A store that ignores the policy would give every client the rights of the role. */
async function verifyConfinement(
  client: S3Client,
  root: string,
  region: string,
  issue: IssueCredentials,
): Promise<void> {
  const location = `${root}/checks/${randomUUID()}`
  const [, , bucket, ...names] = location.split('/')
  const { endpoint, forcePathStyle } = client.config
  const confined = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle,
    credentials: await issue(location),
    requestHandler: client.config.requestHandler,
  })
  const list = (prefix: string) =>
    confined.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 }))
  await list(`${names.join('/')}/`).catch((error: unknown) => {
    throw new Error(`temporary credentials cannot list objects: ${describeStorageError(error)}`, {
      cause: error,
    })
  })
  const isDenied = await list(`${names.slice(0, -2).join('/')}/`).then(
    () => false,
    (error: unknown) => getHttpStatus(error) === 403,
  )
  if (!isDenied) throw new Error('temporary credentials are not confined to the policy of their session')
}

function toIssueError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return new CatalogError('ServiceUnavailable', 'storage credentials are unavailable; retry later', {
    cause: error,
  })
}

/**
 * Shares concurrent requests. Renews after two thirds of the lifetime: clients renew a minute before expiry, and late
 * requests get time left. Failures are not cached.
 */
function cacheCredentials(issue: IssueCredentials, seconds: number): IssueCredentials {
  const cache = new LRUCache<string, Promise<TemporaryCredentials>>({
    max: maxCachedCredentials,
    ttl: (seconds * 1000 * 2) / 3,
  })
  return (location) => {
    const cached = cache.get(location)
    if (cached !== undefined) return cached
    const issued = issue(location)
    cache.set(location, issued)
    issued.catch(() => {
      if (cache.peek(location) === issued) cache.delete(location)
    })
    return issued
  }
}
