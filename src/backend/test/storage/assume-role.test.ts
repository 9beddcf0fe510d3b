import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { expect, it, onTestFinished } from 'vitest'
import { getGlobalDispatcher } from 'undici'
import { assumeRole } from '../../storage/vending.ts'

const region = 'eu-central-1'
const role = 'arn:aws:iam::123456789012:role/tables'

async function startClient(secretAccessKey?: string) {
  const { endpoint, credentials, requests } = await startSigningServices()
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { ...credentials, ...(secretAccessKey !== undefined && { secretAccessKey }) },
  })
  onTestFinished(() => client.destroy())
  const request = {
    endpoint,
    region,
    role,
    sessionName: 'catalog-t',
    policy: '{"a":"b c"}',
    seconds: 900,
    dispatcher: getGlobalDispatcher(),
  }
  return {
    requests,
    list: () => client.send(new ListObjectsV2Command({ Bucket: 'b', Prefix: 'a/b' })),
    assume: () => assumeRole(client, request),
  }
}

it('signs AssumeRole for sts and everything else for s3, whichever comes first', async () => {
  const { requests, list, assume } = await startClient()
  await list()
  const credentials = await assume()
  await list()
  await assume()
  expect(requests.map(({ service }) => service)).toEqual(['s3', 'sts', 's3', 'sts'])
  expect(credentials).toEqual({
    accessKeyId: 'ASIA',
    secretAccessKey: 'temporary',
    sessionToken: 'token',
    expiresAtMillis: Date.UTC(2030, 0, 2, 3, 4, 5),
  })

  const first = await startClient()
  await first.assume()
  await first.list()
  expect(first.requests.map(({ service }) => service)).toEqual(['sts', 's3'])
})

it('sends role, policy, session and lifetime in the region of the settings', async () => {
  const { requests, assume } = await startClient()
  await assume()
  expect(requests[0]?.region).toBe(region)
  expect(Object.fromEntries(new URLSearchParams(requests[0]?.body))).toEqual({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: 'catalog-t',
    DurationSeconds: '900',
    Policy: '{"a":"b c"}',
  })
})

it('names the code of the service and no secret if the signature is rejected', async () => {
  const { assume } = await startClient('a-wrong-secret')
  const error: unknown = await assume().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: 'AssumeRole failed with status 403 SignatureDoesNotMatch' })
  expect(String(error)).not.toContain('a-wrong-secret')
})

/** A request as AWS would see it. */
interface SignedRequest {
  /** The service in the credential scope of the signature. */
  readonly service: string
  readonly region: string
  readonly body: string
}

const accessKeyId = 'KEYOFTHETESTS'
const secretAccessKey = 'secret-of-the-tests'
const expiration = '2030-01-02T03:04:05Z'

/**
 * Starts an object store and a token service that check signatures as AWS does (Signature Version 4): each rejects a
 * request that is signed for another service or with another secret.
 */
async function startSigningServices() {
  const requests: SignedRequest[] = []
  const server = createServer((request, response) => {
    void answer(request, requests).then(({ status, body }) =>
      response.writeHead(status, { 'content-type': 'text/xml' }).end(body),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { endpoint, credentials: { accessKeyId, secretAccessKey }, requests }
}

async function answer(request: IncomingMessage, requests: SignedRequest[]) {
  const body = await text(request)
  // STS is called with a form, S3 is not.
  const expected = request.method === 'POST' ? 'sts' : 's3'
  const { service, region, isValid } = readSignature(request, body)
  requests.push({ service, region, body })
  if (service !== expected) return refuse(`Credential should be scoped to correct service: '${expected}'.`)
  if (!isValid) return refuse('The request signature does not match.')
  return { status: 200, body: expected === 'sts' ? assumedRole : '<ListBucketResult/>' }
}

function refuse(message: string) {
  return {
    status: 403,
    body: `<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>${message}</Message></Error></ErrorResponse>`,
  }
}

const assumedRole =
  '<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>' +
  '<SecretAccessKey>temporary</SecretAccessKey><SessionToken>token</SessionToken>' +
  `<Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function readSignature({ method = '', url = '', headers }: IncomingMessage, body: string) {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=(\S+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    )
  const [, key, day = '', region = '', service = '', signedHeaders = '', signature] = match ?? []
  const { pathname, searchParams } = new URL(url, 'http://any')
  const query = [...searchParams]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join('&')
  const lines = signedHeaders.split(';').map((name) => `${name}:${String(headers[name])}\n`)
  const canonical = [method, pathname, query, lines.join(''), signedHeaders, sha256(body)].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const signingKey = scope
    .split('/')
    .reduce<Buffer>((secret, part) => hmac(secret, part), Buffer.from(`AWS4${secretAccessKey}`))
  const isValid = key === accessKeyId && hmac(signingKey, toSign).toString('hex') === signature
  return { service, region, isValid }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
