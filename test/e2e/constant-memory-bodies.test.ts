import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { Pool } from 'undici'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { arrowStart } from '../support/arrow-upload.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'
import { isThorough } from '../support/thorough.ts'
import { startProgram, startScript } from './built-program.ts'

const mebibyte = 1024 * 1024
/** Memory that grows with the body shows with a smaller one, too. */
const size = (isThorough ? 1024 : 96) * mebibyte
/**
 * V8 collects the garbage of a longer stream at its own pace: on Node.js 24, a JSON body of 1 GiB takes 55 to 90 MiB above
 * idle, and one of 4 GiB takes 80 to 125 MiB.
 */
const allowedGrowth = (isThorough ? 128 : 64) * mebibyte

/** The end of a request; a long response is not retained. */
interface Ended {
  readonly statusCode: number
  readonly bytes: number
  readonly text: string
}

let gateway: GatewayProgram
let client: Pool

async function send(
  operation: string,
  parts: { body: Readable | string; headers?: Record<string, string> },
): Promise<Ended> {
  const { statusCode, body } = await client.request({
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
function createBody(bytes: number, first: string | Buffer, chunk: string, last = ''): Readable {
  const filler = Buffer.from(chunk.repeat(Math.ceil(65_536 / chunk.length)))
  function* chunks(): Generator<Buffer> {
    yield Buffer.from(first)
    for (let sent = first.length; sent < bytes; sent += filler.length) yield filler
    if (last !== '') yield Buffer.from(last)
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 256 * 1024 })
}

const fillerBytes = 65_540

function upload(bytes: number): Readable {
  return createBody(bytes, arrowStart, 'ARROW')
}

const vectors = { first: '{"id":["orders"],"vector":[0', piece: ',0.25', last: '],"k":1}' }
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
    'a JSON body',
    (bytes) => send('query', { body: createBody(bytes, vectors.first, vectors.piece, vectors.last) }),
  ],
  [
    'an answer',
    (bytes) => send('query', { body: '{"k":1}', headers: { 'x-catalog-ctx-bytes': String(bytes) } }),
  ],
]

/** Garbage collection may be late in one attempt: memory that is needed is needed in each of them. */
const maxAttempts = 3

/** The growth of the gateway's memory above idle while the work passes a body of `size` bytes. */
async function growthDuring(work: Work): Promise<number> {
  const idle = await gateway.residentBytes()
  let ended: Ended | undefined
  const peak = await gateway.peakDuring(work(size).then((response) => (ended = response)))
  expect(ended?.statusCode).toBe(200)
  const received = /^\{"received":(\d+)\}$/.exec(ended?.text ?? '')?.[1]
  expect(Number(received ?? ended?.bytes)).toBeGreaterThanOrEqual(size)
  return peak - idle
}

beforeAll(async () => {
  const upstream = startScript(new URL('endless-upstream-process.ts', import.meta.url), [])
  const upstreamUrl = await upstream.announced(/^listening on (http:\S+)$/m)
  gateway = await startGatewayProgram(upstreamUrl)
  client = new Pool(gateway.url)
  for (const [, warmUp] of works) await warmUp(16 * mebibyte)
  return async () => {
    await client.destroy()
    await gateway.remove()
    upstream.signal('SIGTERM')
    await upstream.ended
  }
})

it.each(works)(
  '%s of any size takes a bounded amount of memory above idle',
  async (_what, work) => {
    let growth = await growthDuring(work)
    for (let attempt = 2; attempt <= maxAttempts && growth >= allowedGrowth; attempt += 1) {
      growth = Math.min(growth, await growthDuring(work))
    }
    expect(growth).toBeLessThan(allowedGrowth)
  },
  maxAttempts * 120_000,
)

/** A gateway in its own process, whose memory can be measured. */
interface GatewayProgram {
  readonly url: string
  /** A key that allows everything. */
  readonly key: string
  residentBytes(): Promise<number>
  /** The most resident memory that was seen until the work has ended. */
  peakDuring(work: Promise<unknown>): Promise<number>
  /** Stops it as an operator does and removes its files. */
  remove(): Promise<void>
}

/** Starts the built gateway in front of that URL, with default settings otherwise; the caller must remove it. */
async function startGatewayProgram(upstreamUrl: string): Promise<GatewayProgram> {
  const folder = await makeTemporaryFolder()
  const key = await writeSettings(folder, upstreamUrl)
  const program = startProgram(['serve', '--config', join(folder, 'gateway.yaml')])
  const url = await program.announced(/^listening on (http:\S+)$/m)
  const adminUrl = await program.announced(/^admin on (http:\S+)$/m)

  async function residentBytes(): Promise<number> {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1])
  }

  return {
    url,
    key,
    residentBytes,
    async peakDuring(work) {
      const finished = work.then(() => true)
      for (let peak = 0; ;) {
        peak = Math.max(peak, await residentBytes())
        if (await Promise.race([finished, pause(20, false)])) return peak
      }
    },
    async remove() {
      program.signal('SIGTERM')
      await program.ended
      await removeFolder(folder)
    },
  }
}

/** Returns the key. */
async function writeSettings(folder: string, upstreamUrl: string): Promise<string> {
  const pepper = randomBytes(32).toString('base64url')
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  await writeFile(join(folder, 'pepper'), pepper)
  const { text: key } = await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'everything.yaml'), formatPolicies([allowEverything]))
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstreamUrl },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
    log: { level: 'error' },
  }
  await writeFile(join(folder, 'gateway.yaml'), stringify(settings))
  return key
}
