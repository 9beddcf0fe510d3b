import { expect, it } from 'vitest'
import { openRawHttp2, type RawHttp2 } from '../../gateway/support/raw-http2.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import type { Field } from '../../support/hpack.ts'
import { errorCodes, writeHead } from '../../support/http2-frames.ts'
import { eventually } from '../../support/eventually.ts'

// An upload without a length ends with its stream: one that is cancelled must not look complete to the catalog.
const shared = useSharedGateway({
  // After a protocol error, the upload ends when the client has sent nothing for this long. It goes upstream when its
  // intent is on the disk, which may be busy.
  tuning: { clients: { bodyTimeoutMs: 10_000 } },
  adjust: (settings) => ({
    ...settings,
    listen: { ...settings.listen, h2c: true },
    timeouts: { ...settings.timeouts, drainTimeoutMs: 1_000 },
  }),
})
const start = arrowBytes(16_000)
const sent = Buffer.alloc(16_000, 'A')

const ends: [label: string, end: (connection: RawHttp2) => unknown][] = [
  ['is reset with CANCEL', (connection) => connection.reset(1, errorCodes.cancel)],
  ['is reset with NO_ERROR', (connection) => connection.reset(1, errorCodes.noError)],
  ['ends with its connection', (connection) => connection.end()],
  ['is on a connection that is reset', (connection) => connection.destroy()],
  ['is on a connection with a protocol error', (connection) => connection.data(0, 'x')],
]

it.each(ends.flatMap(([label, end]) => [undefined, '64000'].map((length) => [label, length, end] as const)))(
  'an upload that %s never reaches the upstream complete (length %s)',
  async (_label, length, end) => {
    const { gateway, upstream } = shared
    upstream.answering = () => undefined
    const connection = await openRawHttp2(gateway.url)
    const fields: Field[] = [
      [':method', 'POST'],
      [':path', '/v1/table/orders/insert'],
      ['x-api-key', gateway.key('dev')],
      ['content-type', 'application/vnd.apache.arrow.stream'],
      ...(length === undefined ? [] : [['content-length', length] as Field]),
    ]
    await connection.request(1, fields, false)
    await connection.data(1, start)
    await connection.data(1, sent)
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    await end(connection)
    await expect(upstream.requests[0]?.body).rejects.toThrow()
  },
)

it.each([
  ['reset', (connection: RawHttp2) => void connection.reset(1, errorCodes.noError)],
  ['its end', (connection: RawHttp2) => connection.end()],
])('an upload with its %s in one packet never reaches the upstream complete', async (_label, end) => {
  const { gateway, upstream } = shared
  upstream.answering = () => undefined
  const connection = await openRawHttp2(gateway.url)
  const fields: Field[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'g'],
    [':path', '/v1/table/orders/insert'],
    ['x-api-key', gateway.key('dev')],
  ]
  void connection.write(writeHead(1, fields, false))
  void connection.data(1, start)
  void connection.data(1, sent)
  end(connection)
  expect(
    await gateway.post('/v1/table/well/exists', { signal: AbortSignal.timeout(500) }).catch(() => 0),
  ).toBe(0)
  for (const { target, body } of upstream.requests)
    if (target.endsWith('insert')) await expect(body).rejects.toThrow()
})
