import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { isThorough } from '../support/thorough.ts'
import {
  makeTemporaryFolder,
  removeFolder,
  startProgram,
  startScript,
  type Program,
} from './built-program.ts'

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

const programs: Program[] = []
let folder = ''
let adminUrl = ''
let key = ''
let pool: Pool | undefined

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  const upstream = startScript(new URL('endless-upstream-process.ts', import.meta.url), [])
  programs.push(upstream)
  const config = await writeSettings(await upstream.announced(/^listening on (http:\S+)$/m))
  const gateway = startProgram(['serve', '--config', config])
  programs.push(gateway)
  pool = new Pool(await gateway.announced(/^listening on (http:\S+)$/m), { bodyTimeout: 0 })
  adminUrl = await gateway.announced(/^admin on (http:\S+)$/m)
  for (const [, warmUp] of works) await warmUp(16 * mebibyte)
})

afterAll(async () => {
  await pool?.destroy()
  for (const program of programs) program.signal('SIGTERM')
  await Promise.all(programs.map(({ ended }) => ended))
  await removeFolder(folder)
})

async function writeSettings(upstreamUrl: string): Promise<string> {
  const pepper = randomBytes(32).toString('base64url')
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  await writeFile(join(folder, 'pepper'), pepper)
  const created = await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  key = created.text
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
  return join(folder, 'gateway.yaml')
}

async function send(
  operation: string,
  parts: { body: Readable | string; headers?: Record<string, string> },
): Promise<Ended> {
  if (pool === undefined) throw new Error('The gateway is there only while tests run.')
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: `/v1/table/orders/${operation}`,
    ...parts,
    headers: { 'x-api-key': key, ...parts.headers },
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

async function residentBytes(): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1])
}

async function peakDuring(work: Promise<unknown>): Promise<number> {
  const finished = work.then(() => true)
  for (let peak = 0; ;) {
    peak = Math.max(peak, await residentBytes())
    if (await Promise.race([finished, pause(20, false)])) return peak
  }
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
    const idle = await residentBytes()
    let ended: Ended | undefined
    const peak = await peakDuring(work(size).then((response) => (ended = response)))
    expect(ended?.statusCode).toBe(200)
    const received = /^\{"received":(\d+)\}$/.exec(ended?.text ?? '')?.[1]
    expect(Number(received ?? ended?.bytes)).toBeGreaterThanOrEqual(size)
    expect(peak - idle).toBeLessThan(allowedGrowth)
  },
  120_000,
)
