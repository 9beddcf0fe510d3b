import { createHash, hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { arrowStreamType } from '../src/catalog-api/headers.ts'
import { credentialHeader, type LoadSetup } from './load.ts'
import type { Credential } from './peer.ts'
import {
  bodySizes,
  digestTable,
  dotSegmentsStatus,
  downloadOf,
  smallResponse,
  type BodySize,
} from './upstream-contract.ts'
import { refusedPath, smallReadPath } from './workloads.ts'

const slowChunks = 8
const pauseMs = 20
const responseMs = 120_000

const allowed = '/v1/table/bench$small'
const denied = '/v1/table/secret$small'

export interface Verified {
  readonly port: number
  readonly credentials: readonly Credential[]
  /** Whether it authenticates and authorizes requests. */
  readonly checks: boolean
}

/**
 * Verifies that a server transfers bytes exactly in both directions, with content length and chunked, with fast and
 * slow peers, that it refuses unauthorized callers, and that neither dot segments nor percent-encoding change what a
 * caller may do. Rejects with the error: such a server is not measured.
 */
export async function verifyServer(server: Verified, load: LoadSetup): Promise<void> {
  for (const credential of server.credentials) await verifyPaths(server, credential, load)
  await verifyBodies(server, load)
  if (!server.checks) return
  const { callers } = load
  const unknownKey = { 'x-api-key': `${callers.apiKey.slice(0, -8)}AAAAAAAA` }
  const forgedToken = { authorization: `Bearer ${callers.forgedToken}` }
  const refusals: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['no credential', {}],
    ...(server.credentials.includes('key') ? [['an unknown key', unknownKey] as const] : []),
    ...(server.credentials.includes('token') ? [['a forged token', forgedToken] as const] : []),
  ]
  for (const [what, headers] of refusals) {
    const { status } = await send({ port: server.port, path: smallReadPath, headers })
    expectSame(`the status for ${what}`, status, 401)
  }
}

async function verifyPaths(
  { port, checks }: Verified,
  credential: Credential,
  { callers }: LoadSetup,
): Promise<void> {
  const headers = credentialHeader(credential, callers)
  const statusOf = async (path: string): Promise<number | undefined> =>
    (await send({ port, path, headers })).status
  for (const path of [smallReadPath, smallReadPath.replace('$', '%24')]) {
    const { status, digest } = await send({ port, path, headers })
    expectSame(
      `the small read with a ${credential} of ${path}`,
      [status, digest],
      [200, digestOf(smallResponse)],
    )
  }
  if (!checks) return
  for (const path of [refusedPath, refusedPath.replace('$', '%24')]) {
    expectSame(`the status with a ${credential} for ${path}`, await statusOf(path), 403)
  }
  for (const dots of ['..', '%2e%2e', '.%2E']) {
    const escape = `${allowed}/${dots}/secret$small/version/list`
    const status = (await statusOf(escape)) ?? 0
    if (status < 400 || status >= 500)
      throw new Error(`the status for ${escape} is ${status}, not of a refusal`)
    const back = await statusOf(`${denied}/${dots}/bench$small/version/list`)
    if (back === dotSegmentsStatus) throw new Error('dot segments were forwarded')
  }
}

async function verifyBodies({ port, credentials }: Verified, { callers, bodies }: LoadSetup): Promise<void> {
  const [credential = 'key'] = credentials.toReversed()
  const json = { ...credentialHeader(credential, callers), 'content-type': 'application/json' }
  const arrow = { ...json, 'content-type': arrowStreamType }
  const query = await readFile(bodies.file('query'))
  const path = `/v1/table/bench$${digestTable}/query`
  const small = await send({ port, path, headers: json, body: query })
  expectSame('the body of the JSON call', small.digest, digestResponse(query))

  const insertPath = `/v1/table/bench$${digestTable}/insert`
  const uploads: readonly (readonly [BodySize, Partial<Sent>])[] = [
    ['64m', {}],
    ['64m', { isSlow: true }],
    ['100m', { isChunked: true }],
    ['64m', { isChunked: true, isSlow: true }],
  ]
  for (const [size, how] of uploads) {
    const body = await readFile(bodies.file(`arrow-${size}`))
    const { digest } = await send({ port, path: insertPath, headers: arrow, body, ...how })
    expectSame(`the upload of ${size} (${JSON.stringify(how)})`, digest, digestResponse(body))
  }
  const wanted = digestOf(downloadOf(bodySizes['64m']))
  for (const framing of ['sized', 'chunked']) {
    for (const isSlow of [false, true]) {
      const table = `/v1/table/bench$${framing}-64m/query`
      const { digest } = await send({ port, path: table, headers: json, body: query, isSlow })
      expectSame(`the ${framing} download${isSlow ? ' by a slow client' : ''}`, digest, wanted)
    }
  }
}

interface Sent {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly isChunked?: boolean
  /** Sends and reads with pauses, in uneven chunks. */
  readonly isSlow?: boolean
}

interface Received {
  readonly status: number | undefined
  readonly digest: string
}

async function send(sent: Sent): Promise<Received> {
  const { port, path, headers, body, isChunked = false, isSlow = false } = sent
  const framing = isChunked ? {} : { 'content-length': body?.length ?? 0 }
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    headers: { ...headers, ...framing },
    agent: false,
    signal: AbortSignal.timeout(responseMs),
  })
  const responded = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject)
  })
  responded.catch(() => undefined)
  if (isSlow && body !== undefined) await sendSlowly(body, outgoing)
  else if (body !== undefined) outgoing.write(body)
  outgoing.end()
  const response = await responded
  const digest = createHash('sha256')
  let pauses = isSlow ? slowChunks : 0
  for await (const chunk of response) {
    digest.update(chunk as Buffer)
    if (pauses-- > 0) await pause(pauseMs)
  }
  return { status: response.statusCode, digest: digest.digest('hex') }
}

async function sendSlowly(body: Buffer, outgoing: ReturnType<typeof request>): Promise<void> {
  let start = 0
  for (let chunk = 1; chunk <= slowChunks; chunk += 1) {
    const end = Math.floor(body.length * (chunk / slowChunks) ** 3)
    outgoing.write(body.subarray(start, end))
    start = end
    await pause(pauseMs)
  }
}

function digestResponse(body: Buffer): string {
  return digestOf(`{"digest":"${digestOf(body)}"}`)
}

function digestOf(bytes: Buffer | string): string {
  return hash('sha256', bytes, 'hex')
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  const [received, wanted] = [actual, expected].map((value) => JSON.stringify(value))
  if (received !== wanted) throw new Error(`${what} is ${received}, not ${wanted}`)
}
