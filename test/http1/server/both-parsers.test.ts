import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { oddRequests } from './odd-requests.ts'
import { sendTo, startNodeRequests, startRecordingListener, type Accepted } from './recording-server.ts'
import { writtenRequest } from './written-requests.ts'

// Node (llhttp) parses the requests of an application with the plugin. It is old, well known, and strict by default:
// requests that both parsers accept must mean the same, and node must accept all that the own parser accepts. Then no
// server that parses like node sees a different request.

/** Errors of the own parser for bytes that llhttp accepts. None of them is ever forwarded. */
const errorsOfOwnParserAlone = [
  // llhttp skips any CR and LF before a request line.
  'the head has invalid characters',
  // Several spaces before the version, and ICE as the name of the protocol.
  'the head does not start with a request line',
  // Names that control the connection, and any values: trailers are discarded.
  'a trailer is invalid',
  // Extensions without a name: extensions are discarded.
  'the size of a chunk is invalid',
  // llhttp trims a tab around a value, as RFC 9112, section 5, allows.
  'there is a tab in the content-length or transfer-encoding',
]

function startBoth() {
  return Promise.all([startRecordingListener(), startNodeRequests()])
}

it('both parsers accept valid requests, and read the same', async () => {
  const [own, node] = await startBoth()
  const property = fc.asyncProperty(
    fc.array(writtenRequest, { minLength: 1, maxLength: 3 }),
    async (sent) => {
      const bytes = Buffer.from(sent.map((request) => request.bytes).join(''), 'latin1')
      const [byOwn, byNode] = await Promise.all([sendTo(own, bytes), sendTo(node, bytes)])
      expect(byNode.requests).toEqual(byOwn.requests)
      expect(byNode.requests).toHaveLength(sent.length)
    },
  )
  await fc.assert(property, { numRuns: isThorough ? 1_000 : 30 })
})

it('requests that both parsers accept are the same, and only node accepts others', async () => {
  const [own, node] = await startBoth()
  let acceptedByBoth = 0
  const property = fc.asyncProperty(oddRequests, async (text) => {
    const bytes = Buffer.from(text, 'latin1')
    const [byOwn, byNode] = await Promise.all([sendTo(own, bytes), sendTo(node, bytes)])
    const requests = withoutConnect(byOwn)
    acceptedByBoth += requests.length
    expect(byNode.requests.slice(0, requests.length)).toEqual(requests)
    if (byNode.requests.length > requests.length) expect(errorsOfOwnParserAlone).toContain(byOwn.error)
  })
  const numRuns = isThorough ? 6_000 : 200
  await fc.assert(property, { numRuns })
  // Some requests must remain valid, or the test would prove nothing.
  expect(acceptedByBoth).toBeGreaterThan(numRuns / 4)
})

it.each([
  ['own', startRecordingListener],
  ['node', startNodeRequests],
] as const)('no request behind one of unknown length is accepted (parser: %s)', async (_parser, start) => {
  const server = await start()
  const bytes = Buffer.from(
    'POST /a HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\ntransfer-encoding:\r\n\r\n' +
      '2\r\nab\r\n0\r\n\r\nPOST /b HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\nab',
  )
  expect((await sendTo(server, bytes)).requests).toEqual([])
})

/** Both refuse CONNECT; that of node emits no request for it. */
function withoutConnect({ requests }: Accepted): Accepted['requests'] {
  return requests.filter(({ method }) => method !== 'CONNECT')
}
