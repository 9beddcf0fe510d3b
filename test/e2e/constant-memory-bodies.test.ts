import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Pool } from 'undici'
import { servingProgram, type ServingProgram } from '../observability/serving-gateway.ts'
import { arrowStart } from '../support/arrow-upload.ts'
import { startScript } from './built-program.ts'

const mebibyte = 1024 * 1024
const size = 1024 * mebibyte
/** V8 collects the garbage of a longer stream at its own pace. */
const allowedGrowth = 128 * mebibyte

/** The end of a request; a long response is not retained. */
interface Ended {
  readonly statusCode: number
  readonly bytes: number
  readonly text: string
}

let gateway: ServingProgram
let client: Pool

async function send(
  operation: string,
  parts: { body: Readable | string; headers?: Record<string, string> },
): Promise<Ended> {
  const { statusCode, body } = await client.request({
    method: 'POST',
    path: `/v1/table/orders/${operation}`,
    ...parts,
    headers: { 'x-api-key': gateway.key('dev'), ...parts.headers },
  })
  let bytes = 0
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes < 1000) text += String(chunk)
  }
  return { statusCode, bytes, text }
}

const fillerBytes = 65_540

/** A body of that many bytes. */
function upload(bytes: number): Readable {
  const filler = Buffer.alloc(fillerBytes, 'ARROW')
  function* chunks(): Generator<Buffer> {
    yield arrowStart
    for (let sent = arrowStart.length; sent < bytes; sent += filler.length) yield filler
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 256 * 1024 })
}

type Work = (bytes: number) => Promise<Ended>
const works: [what: string, work: Work][] = [
  [
    'an upload with a length',
    (bytes) => {
      const fillers = Math.ceil((bytes - arrowStart.length) / fillerBytes)
      const length = arrowStart.length + fillers * fillerBytes
      return send('insert', { body: upload(length), headers: { 'content-length': String(length) } })
    },
  ],
  ['an upload in chunks', (bytes) => send('insert', { body: upload(bytes) })],
  [
    'an answer',
    (bytes) => send('query', { body: '{"k":1}', headers: { 'x-catalog-ctx-bytes': String(bytes) } }),
  ],
]

/** Garbage collection may be late in one attempt: memory that is needed is needed in each of them. */
const maxAttempts = 3

/** The growth of the gateway's memory above idle while the work passes a body of `size` bytes. */
async function growthDuring(work: Work): Promise<number> {
  const idle = await residentBytes()
  let peak = idle
  let ended: Ended | undefined
  const working = work(size).then((response) => (ended = response))
  while (!(await Promise.race([working, pause(20, false)]))) peak = Math.max(peak, await residentBytes())
  expect(ended?.statusCode).toBe(200)
  const received = /^\{"received":(\d+)\}$/.exec(ended?.text ?? '')?.[1]
  expect(Number(received ?? ended?.bytes)).toBeGreaterThanOrEqual(size)
  return peak - idle
}

async function residentBytes(): Promise<number> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1])
}

it(
  'bodies of any size take a bounded amount of memory above idle',
  async () => {
    const upstream = startScript(new URL('endless-upstream-process.ts', import.meta.url), [])
    const url = await upstream.announced(/^listening on (http:\S+)$/m)
    gateway = await servingProgram({ log: { level: 'error' } }, {}, { url })
    client = new Pool(gateway.url)
    for (const [, warmUp] of works) await warmUp(16 * mebibyte)
    for (const [what, work] of works) {
      let growth = await growthDuring(work)
      for (let attempt = 2; attempt <= maxAttempts && growth >= allowedGrowth; attempt += 1) {
        growth = Math.min(growth, await growthDuring(work))
      }
      expect(growth, what).toBeLessThan(allowedGrowth)
    }
    await client.destroy()
    await gateway.stop()
    upstream.signal('SIGTERM')
    await upstream.ended
  },
  works.length * maxAttempts * 120_000,
)
