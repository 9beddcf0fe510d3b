import type { S3Client } from '@aws-sdk/client-s3'
import { SignatureV4 } from '@smithy/signature-v4'
// The fetch of Node 20 never settles if the server closes the connection at once.
import { fetch, type Dispatcher } from 'undici'
import { readBounded } from 'catalog-gateway/lib'

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
