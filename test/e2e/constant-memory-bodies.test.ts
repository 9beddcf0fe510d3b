import { Readable } from 'node:stream'
import { Pool } from 'undici'
import { beforeAll, expect, it } from 'vitest'
import { isThorough } from '../support/thorough.ts'
import { startScript } from './built-program.ts'
import { startGatewayProgram, type GatewayProgram } from './gateway-program.ts'

const mebibyte = 1024 * 1024
/** Memory that grows with the body shows with a smaller one, too. */
const size = (isThorough ? 1024 : 160) * mebibyte
const allowedGrowth = 64 * mebibyte

/** The end of a request; a long response is not retained. */
interface Ended {
  readonly statusCode: number
  readonly bytes: number
  readonly text: string
}

let gateway: GatewayProgram
let pool: Pool

beforeAll(async () => {
  const upstream = startScript(new URL('endless-upstream-process.ts', import.meta.url), [])
  gateway = await startGatewayProgram(await upstream.announced(/^listening on (http:\S+)$/m))
  pool = new Pool(gateway.url, { bodyTimeout: 0 })
  for (const [, warmUp] of works) await warmUp(16 * mebibyte)
  return async () => {
    await pool.destroy()
    await gateway.remove()
    upstream.signal('SIGTERM')
    await upstream.ended
  }
})

async function send(
  operation: string,
  parts: { body: Readable | string; headers?: Record<string, string> },
): Promise<Ended> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: `/v1/table/orders/${operation}`,
    ...parts,
    headers: { 'x-api-key': gateway.key, ...parts.headers },
  })
  let bytes = 0
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes < 1000) text += String(chunk)
  }
  return { statusCode, bytes, text }
}

/** A body of that many bytes: `first`, then `chunk` repeated, then `last`. */
function upload(bytes: number, first = '', chunk = 'ARROW', last = ''): Readable {
  const filler = Buffer.from(chunk.repeat(Math.ceil(65_536 / chunk.length)))
  function* chunks(): Generator<Buffer> {
    if (first !== '') yield Buffer.from(first)
    for (let sent = first.length; sent < bytes; sent += filler.length) yield filler
    if (last !== '') yield Buffer.from(last)
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 256 * 1024 })
}

const vectors = { first: '{"id":["orders"],"vector":[0', piece: ',0.25', last: '],"k":1}' }
const works: [what: string, work: (bytes: number) => Promise<Ended>][] = [
  [
    'an upload with a length',
    (bytes) => {
      const length = Math.ceil(bytes / 65_540) * 65_540
      return send('insert', { body: upload(length), headers: { 'content-length': String(length) } })
    },
  ],
  ['an upload in chunks', (bytes) => send('insert', { body: upload(bytes) })],
  [
    'a JSON body',
    (bytes) => send('query', { body: upload(bytes, vectors.first, vectors.piece, vectors.last) }),
  ],
  [
    'an answer',
    (bytes) => send('query', { body: '{"k":1}', headers: { 'x-catalog-ctx-bytes': String(bytes) } }),
  ],
]

it.each(works)(
  '%s of any size takes no more than 64 MiB above idle',
  async (_what, work) => {
    const idle = await gateway.residentBytes()
    let ended: Ended | undefined
    const peak = await gateway.peakDuring(work(size).then((response) => (ended = response)))
    expect(ended?.statusCode).toBe(200)
    const received = /^\{"received":(\d+)\}$/.exec(ended?.text ?? '')?.[1]
    expect(Number(received ?? ended?.bytes)).toBeGreaterThanOrEqual(size)
    expect(peak - idle).toBeLessThan(allowedGrowth)
  },
  120_000,
)
