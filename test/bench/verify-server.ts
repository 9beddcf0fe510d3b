import { createHash, hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { arrowStreamType } from '../../src/catalog-api/headers.ts'
import type { LoadSetup } from './load.ts'
import { bodySizes, digestHeader, downloadOf, smallResponse, type BodySize } from './upstream-contract.ts'

const slowChunks = 8
const pauseMs = 20

export interface Proven {
  readonly port: number
  readonly checks: boolean
  readonly sizes: readonly BodySize[]
}

/**
 * Verifies that a server transfers bytes exactly in both directions, with content length and chunked, with fast and
 * slow peers, and that it refuses unauthorized callers. Rejects with the error: such a server is not measured.
 */
export async function verifyServer(
  { port, checks, sizes }: Proven,
  { callers, bodies }: LoadSetup,
): Promise<void> {
  const token = { authorization: `Bearer ${callers.tokens[0]}` }
  const json = { ...token, 'content-type': 'application/json' }
  const query = await readFile(bodies.file('query'))
  const ask = (sent: Partial<Sent>): Promise<Received> =>
    exchange({ port, path: '/v1/table/bench$small/query', headers: json, body: query, ...sent })

  const read = await ask({
    path: '/v1/table/bench$small/version/list',
    headers: { 'x-api-key': callers.apiKey },
    body: undefined,
  })
  expectSame('the small read', [read.status, read.digest], [200, digestOf(smallResponse)])
  const reported = await ask({ headers: { ...json, [digestHeader]: '1' } })
  expectSame('the body of the JSON call', reported.digest, digestResponse(query))

  for (const size of sizes) {
    const upload = await readFile(bodies.file(`arrow-${size}`))
    const wanted = digestOf(downloadOf(bodySizes[size]))
    for (const isSlow of [false, true]) {
      for (const framing of ['sized', 'chunked'] as const) {
        const how = `of ${size}, ${framing}, ${isSlow ? 'slow' : 'fast'}`
        const headers = { ...token, 'content-type': arrowStreamType, [digestHeader]: '1' }
        const path = '/v1/table/bench$small/insert'
        const { digest } = await ask({
          path,
          headers,
          body: upload,
          isChunked: framing === 'chunked',
          isSlow,
        })
        expectSame(`the upload ${how}`, digest, digestResponse(upload))
        const down = await ask({ path: `/v1/table/bench$${framing}-${size}/query`, isSlow })
        expectSame(`the download ${how}`, down.digest, wanted)
      }
    }
  }

  if (!checks) return
  const content = { 'content-type': 'application/json' }
  const refusals: readonly (readonly [string, Partial<Sent>, number])[] = [
    ['no credential', { headers: content }, 401],
    [
      'an unknown key',
      { headers: { ...content, 'x-api-key': `${callers.apiKey.slice(0, -8)}AAAAAAAA` } },
      401,
    ],
    ['a forged token', { headers: { ...content, authorization: `Bearer ${callers.forgedToken}` } }, 401],
    ['another namespace', { path: '/v1/table/secret$small/query' }, 403],
  ]
  for (const [what, sent, status] of refusals) {
    expectSame(`the status for ${what}`, (await ask(sent)).status, status)
  }
}

interface Sent {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly isChunked?: boolean
  /** Sends and reads with pauses, in uneven chunks. */
  readonly isSlow?: boolean
}

interface Received {
  readonly status: number | undefined
  readonly digest: string
}

async function exchange(sent: Sent): Promise<Received> {
  const { port, path, headers, body, isChunked = false, isSlow = false } = sent
  const framing = isChunked || body === undefined ? {} : { 'content-length': body.length }
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    headers: { ...headers, ...framing },
    agent: false,
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
  const [sent, wanted] = [actual, expected].map((value) => JSON.stringify(value))
  if (sent !== wanted) throw new Error(`${what} is not exact: ${sent}, not ${wanted}`)
}
