import { expect, it } from 'vitest'
import { sendRaw, rawRequest } from '../../gateway/support/raw-request.ts'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { tracedGateway } from '../../observability/traces/traced-gateway.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'
const good = `traceparent: 00-${trace}-${span}-01`

/** Header lines without a valid traceparent. */
const invalid: readonly (readonly string[])[] = [
  ['traceparent: '],
  ['traceparent: 00'],
  [`traceparent: 00-${trace}-${span}`],
  [`traceparent: 00-${trace}-${span}-01-more`],
  [`traceparent: ff-${trace}-${span}-01`],
  [`traceparent: 0-${trace}-${span}-01`],
  [`traceparent: 00-${trace.toUpperCase()}-${span}-01`],
  [`traceparent: 00-${'0'.repeat(32)}-${span}-01`],
  [`traceparent: 00-${trace}-${'0'.repeat(16)}-01`],
  [`traceparent: 00-${trace}x-${span}-01`],
  [`traceparent: 00_${trace}_${span}_01`],
  [`traceparent: 00-${trace}-${span}-zz`],
  [`traceparent: 01-${trace}-${span}-01-${'a'.repeat(4_000)}`],
  [`traceparent: "00-${trace}-${span}-01"`],
  [good, good],
  [good, `traceparent: 00-${'1'.repeat(32)}-${span}-00`],
  [`traceparent: 01-${trace}-${span}-01-x`, `traceparent: 00-${trace}-${span}-00`],
  [`traceparent: 00-${trace}-${span}-01, 00-${trace}-${span}-01`],
  [`trace_parent: 00-${trace}-${span}-01`],
  ['tracestate: vendor=alone'],
]

/** Header lines next to a valid traceparent, and the forwarded tracestate. */
const states: readonly (readonly [lines: readonly string[], forwarded: readonly string[]])[] = [
  [['tracestate: a=1', 'tracestate: b=2'], ['a=1,b=2']],
  [[`tracestate: a=${'x'.repeat(600)}`], []],
  [['tracestate: nonsense'], []],
  [['tracestate: =;,,,'], []],
  [[`tracestate: ${members(200)}`], [members(32)]],
]

it('replaces an invalid traceparent by a new one', async () => {
  const { gateway, upstream, spans } = await tracedGateway()
  const send = async (lines: readonly string[]): Promise<string[][]> => {
    const request = rawRequest([
      'POST /v1/table/orders/exists HTTP/1.1',
      'host: gateway.example',
      'connection: close',
      'content-length: 0',
      `x-api-key: ${gateway.key('dev')}`,
      ...lines,
    ])
    expect(await sendRaw(gateway.url, request)).toMatchObject([{ status: 200 }])
    const [arrival = { rawHeaders: [] }] = upstream.requests.splice(0)
    return [getHeaderValues(arrival, 'traceparent'), getHeaderValues(arrival, 'tracestate')]
  }
  for (const lines of invalid) {
    expect({ lines, sent: await send(lines) }).toEqual({
      lines,
      sent: [
        [expect.stringMatching(new RegExp(`^00-(?!${trace})[0-9a-f]{32}-(?!${span})[0-9a-f]{16}-01$`))],
        [],
      ],
    })
  }
  for (const [lines, forwarded] of states) {
    expect({ lines, sent: await send([good, ...lines]) }).toEqual({
      lines,
      sent: [[expect.stringMatching(new RegExp(`^00-${trace}-(?!${span})[0-9a-f]{16}-01$`))], forwarded],
    })
  }
  // The known part of a future version is read; the forwarded header has the supported version.
  const [sent] = await send([`traceparent: cc-${trace}-${span}-ff-unknown`])
  expect(sent).toEqual([expect.stringMatching(new RegExp(`^00-${trace}-(?!${span})[0-9a-f]{16}-01$`))])

  const started = (await spans()).filter(({ kind }) => kind === 'server')
  expect(started).toHaveLength(invalid.length + states.length + 1)
  expect(started.filter(({ parentSpanId }) => parentSpanId === span)).toHaveLength(states.length + 1)
})

function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `k${index}=1`).join(',')
}
