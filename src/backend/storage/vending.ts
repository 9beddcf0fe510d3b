import { randomUUID } from 'node:crypto'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { SignatureV4 } from '@smithy/signature-v4'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { readBounded } from 'catalog-gateway/lib'
import { createUndiciConnector, type SocketOpener } from 'catalog-gateway/outbound'
import { LRUCache } from 'lru-cache'
import { Agent, fetch, type Dispatcher } from 'undici'
import type { S3Settings } from '../settings/backend-settings.ts'
import { describeStorageError, getHttpStatus } from './storage-errors.ts'
import type { GetClientOptions } from './storage.ts'

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

export type TableAccess = 'read' | 'write'

/** The limit of AssumeRole. */
const maxPolicyLength = 2048

/**
 * Confines temporary credentials to the objects of one table. `write` allows all objects except the manifests of
 * versions, which only the catalog creates; manifests staged by clients have longer names. Stores differ in
 * enforcement: Ceph 16 allows bypassing it by a copy within the table. Returns undefined if the name of the table is
 * too long for a policy or contains wildcard characters.
 */
export function buildSessionPolicy(
  location: string,
  access: TableAccess,
  partition: string,
): string | undefined {
  const [, bucket, key] = /^s3:\/\/([\w.-]+)\/([\w./-]+)$/.exec(location) ?? []
  if (bucket === undefined || key === undefined) return undefined
  const bucketName = `arn:${partition}:s3:::${bucket}`
  const objects = `${bucketName}/${key}/*`
  const statements = [
    {
      Effect: 'Allow',
      Action: 's3:ListBucket',
      Resource: bucketName,
      Condition: { StringLike: { 's3:prefix': `${key}/*` } },
    },
    { Effect: 'Allow', Action: allowedActions[access], Resource: objects },
    ...(access === 'write'
      ? [{ Effect: 'Deny', Action: changeActions, Resource: `${objects}.manifest` }]
      : []),
  ]
  const text = JSON.stringify({ Version: '2012-10-17', Statement: statements })
  return text.length > maxPolicyLength ? undefined : text
}

const changeActions = ['s3:PutObject', 's3:DeleteObject']

const allowedActions: Readonly<Record<TableAccess, readonly string[]>> = {
  read: ['s3:GetObject'],
  write: ['s3:GetObject', ...changeActions, 's3:AbortMultipartUpload'],
}

// The fetch of Node 20 never settles if the server closes the connection at once.

/** A request to the Security Token Service of AWS or of a compatible store. */
export interface RoleRequest {
  /** Scheme, host and port. */
  readonly endpoint: string
  readonly region: string
  /** The ARN of the role. */
  readonly role: string
  /** The session name in the store's log: 2 to 64 letters, digits and `+=,.@-_`. */
  readonly sessionName: string
  /** JSON text; the credentials allow what both this policy and the role allow. */
  readonly policy: string
  readonly seconds: number
  /** Verifies certificates. */
  readonly dispatcher: Dispatcher
}

export interface TemporaryCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string
  /** Milliseconds since 1970. */
  readonly expiresAtMillis: number
}

const timeoutMs = 10_000
const maxResponseBytes = 64 * 1024

/**
 * AssumeRole of AWS STS 2011-06-15, signed for `sts` with the credentials of the S3 client. Rejects with the code of the
 * service and no secret.
 */
export async function assumeRole(client: S3Client, request: RoleRequest): Promise<TemporaryCredentials> {
  const { protocol, host, hostname, port, href } = new URL(request.endpoint)
  const body = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: request.role,
    RoleSessionName: request.sessionName,
    DurationSeconds: String(request.seconds),
    Policy: request.policy,
  }).toString()
  // The signer of the client keeps the service of its first request, S3, which STS rejects.
  const { credentials, sha256 } = client.config
  const signer = new SignatureV4({ service: 'sts', region: request.region, credentials, sha256 })
  const signed = await signer.sign({
    method: 'POST',
    protocol,
    hostname,
    ...(port !== '' && { port: Number(port) }),
    path: '/',
    query: {},
    headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })
  // fetch sets it itself.
  const { host: _host, ...headers } = signed.headers
  const response = await fetch(href, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    dispatcher: request.dispatcher,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new Error('the STS endpoint is unreachable', { cause: error })
  })
  const bytes = await readBounded(response.body ?? [], maxResponseBytes)
  if (bytes === undefined) throw new Error('the response of AssumeRole is too large')
  const text = bytes.toString()
  if (!response.ok)
    throw new Error(`AssumeRole failed with status ${response.status} ${readElement(text, 'Code')}`)
  return parseCredentials(text)
}

/** The elements are plain text without markup or white space, so no XML parser is needed. */
function parseCredentials(text: string): TemporaryCredentials {
  const credentials = {
    accessKeyId: readElement(text, 'AccessKeyId'),
    secretAccessKey: readElement(text, 'SecretAccessKey'),
    sessionToken: readElement(text, 'SessionToken'),
    expiresAtMillis: Date.parse(readElement(text, 'Expiration')),
  }
  if (Object.values(credentials).includes('') || Number.isNaN(credentials.expiresAtMillis)) {
    throw new Error('the response of AssumeRole has no credentials')
  }
  return credentials
}

function readElement(text: string, name: string): string {
  return new RegExp(`<${name}>\\s*([^<&\\s]+)\\s*</${name}>`).exec(text)?.[1] ?? ''
}
