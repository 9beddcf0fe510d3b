import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { withHttp2 } from '../../gateway/support/open-gateway.ts'
import { openRawHttp2, type RawHttp2 } from '../../gateway/support/raw-http2.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { encodeFields, type Field } from '../../support/hpack.ts'
import { frameTypes, writeFrame, writeHead } from '../../support/http2-frames.ts'
import { eventually } from '../../support/eventually.ts'

// Frames that cost the client nothing and the server something (CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2024-27983,
// CVE-2025-8671). The connection is closed; other clients are served meanwhile.
const shared = useSharedGateway(withHttp2)
const mebibyte = 1024 * 1024
const batch = 100
/** PADDED, and padding of 255 bytes. */
const padded = 8
const padding = Buffer.concat([Buffer.of(255), Buffer.alloc(255)])

function head(...more: Field[]): Field[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'g'],
    [':path', '/v1/table/orders/query'],
    ['x-api-key', shared.gateway.key('dev')],
    ...more,
  ]
}

/** Sends that many frames, in batches, until the gateway closes the connection. */
async function flood(connection: RawHttp2, count: number, write: (index: number) => Buffer): Promise<void> {
  for (let index = 0; index < count; index += batch) {
    const frames = Array.from({ length: batch }, (_, offset) => write(index + offset))
    if (!(await connection.write(...frames))) return
    await new Promise(setImmediate)
  }
}

const streamOf = (index: number): number => 1 + 2 * index

/** Frames that need no request, or carry nothing of one. */
const frames: [label: string, write: () => Buffer][] = [
  ['PING frames', () => writeFrame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
  ['SETTINGS frames', () => writeFrame(frameTypes.settings)],
  ['PRIORITY frames', () => writeFrame(frameTypes.priority, 0, 1, Buffer.alloc(5))],
  ['PRIORITY frames of other streams', () => writeFrame(frameTypes.priority, 0, 5, Buffer.alloc(5))],
  ['WINDOW_UPDATE frames', () => writeFrame(frameTypes.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1))],
  [
    'WINDOW_UPDATE frames of a stream',
    () => writeFrame(frameTypes.windowUpdate, 0, 1, Buffer.of(0, 0, 0, 1)),
  ],
  ['empty DATA frames', () => writeFrame(frameTypes.data, 0, 1)],
  ['empty, padded DATA frames', () => writeFrame(frameTypes.data, padded, 1, padding)],
  ['unknown frames', () => writeFrame(0xbe, 0, 0, Buffer.alloc(100))],
]

type Flood = [label: string, attack: (connection: RawHttp2) => Promise<void>]

it.each<Flood>([
  [
    'streams that are opened and reset',
    (connection) =>
      flood(connection, 20_000, (index) =>
        Buffer.concat([
          writeHead(streamOf(index), head(), true),
          writeFrame(frameTypes.rstStream, 0, streamOf(index), Buffer.of(0, 0, 0, 8)),
        ]),
      ),
  ],
  [
    'streams that the server is made to reset',
    (connection) =>
      flood(connection, 10_000, (index) =>
        Buffer.concat([
          writeHead(streamOf(index), head(), true),
          writeFrame(frameTypes.windowUpdate, 0, streamOf(index), Buffer.alloc(4)),
        ]),
      ),
  ],
  [
    'CONTINUATION frames',
    async (connection) => {
      await connection.write(writeFrame(frameTypes.headers, 0, 1, encodeFields(head())))
      const more = encodeFields([['x-a', 'b'.repeat(1_000)]])
      await flood(connection, 20_000, () => writeFrame(frameTypes.continuation, 0, 1, more))
    },
  ],
  [
    'empty CONTINUATION frames',
    async (connection) => {
      await connection.write(writeFrame(frameTypes.headers, 0, 1, encodeFields(head())))
      await flood(connection, 20_000, () => writeFrame(frameTypes.continuation, 0, 1))
    },
  ],
  ...frames.map(([label, write]): Flood => [
    label,
    async (connection) => {
      await connection.write(writeHead(1, head(), false))
      await flood(connection, 1_000_000, write)
    },
  ]),
])('%s end the connection', async (_label, attack) => {
  const { gateway } = shared
  const before = await countRefusals(gateway, 'http2_error')
  const connection = await openRawHttp2(gateway.url)
  const state = { isOver: false }
  const attacked = attack(connection).finally(() => (state.isOver = true))
  let slowestMs = 0
  while (!state.isOver) {
    const started = performance.now()
    expect(await gateway.post('/v1/table/well/exists')).toMatchObject({ status: 200 })
    slowestMs = Math.max(slowestMs, performance.now() - started)
  }
  await attacked
  expect(slowestMs).toBeLessThan(5_000)
  await eventually(() => expect(connection.isClosed()).toBe(true))
  expect(await countRefusals(gateway, 'http2_error')).toBe(before + 1)
})

it('a connection with many streams that complete is not taken for a flood', async () => {
  const connection = await openRawHttp2(shared.gateway.url)
  for (let index = 0; index < 600; index += 1) {
    await connection.request(streamOf(index), [
      [':method', 'GET'],
      [':path', '/v1/nothing'],
    ])
    if (index % 50 === 49) await connection.waitForEnd(streamOf(index))
  }
  expect(await connection.waitForStatus(streamOf(599))).toBe(406)
  expect(connection.isClosed()).toBe(false)
})

it('an upload in frames of a byte, and a long download, are not taken for floods', async () => {
  const { gateway, upstream } = shared
  upstream.answering = (_request, response) => response.end(Buffer.alloc(8 * mebibyte))
  const connection = await openRawHttp2(gateway.url)
  await connection.write(writeHead(1, head(['content-type', 'application/json']), false))
  const blanks = writeFrame(frameTypes.data, 0, 1, Buffer.from(' '))
  for (let count = 0; count < 50_000; count += batch)
    await connection.write(...Array.from({ length: batch }, () => blanks))
  await connection.data(1, '{}', true)
  expect(await connection.waitForEnd(1)).toBe('complete')
  await pause(1_500)
  expect(connection.isClosed()).toBe(false)
  expect(connection.bytes(1)).toHaveLength(8 * mebibyte)
})
