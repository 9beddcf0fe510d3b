import { once } from 'node:events'
import { request as requestOf } from 'node:http'
import { expect, it } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import type { Listener } from '../../../src/listener/listener.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { runServer } from './running-server.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'
const text = ['content-type', 'text/plain']

function getBy(version: string, headers = ''): string {
  return `GET / HTTP/${version}\r\n${headers}\r\n`
}

const retained = 'connection: keep-alive\\r\\nkeep-alive: timeout=60\\r\\ndate: [^\\r]+ GMT\\r\\n\\r\\n'
const closed = 'connection: close\\r\\ndate: [^\\r]+ GMT\\r\\n\\r\\n'
const inChunks = `plain\\r\\ntransfer-encoding: chunked\\r\\n${retained}`
const closing = 'connection: close\r\n'

/** `found` is the pattern of the framing and connection headers, and of the bytes after the head. */
it.each<
  [what: string, sent: string, response: { status?: number; length?: number; body: string }, found: string]
>([
  ['with a length', get, { length: 3, body: 'abc' }, `content-length: 3\\r\\n${retained}abc`],
  ['without a length: in chunks', get, { body: 'abc' }, `${inChunks}3\\r\\nabc\\r\\n0\\r\\n\\r\\n`],
  ['empty and without a length: in chunks', get, { body: '' }, `${inChunks}0\\r\\n\\r\\n`],
  [
    'to HTTP/1.0 and without a length: until the end',
    getBy('1.0', 'connection: keep-alive\r\n'),
    { body: 'abc' },
    `plain\\r\\n${closed}abc`,
  ],
  ['to HTTP/1.0 with a length', getBy('1.0'), { length: 3, body: 'abc' }, `3\\r\\n${closed}abc`],
  [
    'to HTTP/1.0 that wants to go on',
    getBy('1.0', 'connection: Keep-Alive\r\n'),
    { length: 3, body: 'abc' },
    `3\\r\\n${retained}abc`,
  ],
  [
    'to HEAD, with the length of what is not sent',
    'HEAD / HTTP/1.1\r\n\r\n',
    { length: 3, body: 'abc' },
    `content-length: 3\\r\\n${retained}`,
  ],
  [
    'of status 204, without the length of what is not sent',
    get,
    { status: 204, length: 3, body: 'abc' },
    `No Content\\r\\n[^]*plain\\r\\n${retained}`,
  ],
  [
    'of status 304, without the length of what is not sent',
    get,
    { status: 304, length: 3, body: 'abc' },
    `Not Modified\\r\\n[^]*plain\\r\\n${retained}`,
  ],
  ['to a client that closes', getBy('1.1', closing), { length: 3, body: 'abc' }, `3\\r\\n${closed}abc`],
  [
    'to a client that closes and does not, in two headers',
    getBy('1.1', `${closing}connection: keep-alive\r\n`),
    { length: 3, body: 'abc' },
    `3\\r\\n${closed}abc`,
  ],
  [
    'to HTTP of an unknown version',
    getBy('1.2', 'connection: keep-alive\r\n'),
    { length: 3, body: 'abc' },
    `3\\r\\n${closed}abc`,
  ],
])('a response %s', async (_what, sent, { status = 200, length, body }, pattern) => {
  const found = new RegExp(`${pattern}$`)
  for (const isComplete of [true, false]) {
    const { url } = await runServer((_, response) => {
      response.writeHead(status, length === undefined ? text : [...text, 'content-length', String(length)])
      if (isComplete) return response.end(body)
      if (body !== '') response.write(Buffer.from(body))
      return response.end()
    })
    const connection = openRawConnection(url)
    connection.write(sent)
    expect(await connection.waitFor(found)).toMatch(/^HTTP\/1\.1 /)
    if (found.source.includes('close')) {
      await connection.waitForEnd()
    } else {
      connection.write(sent)
      await connection.waitFor(/(?:HTTP\/1\.1 \d[^]*){2}/)
      await connection.waitFor(found)
      expect(connection.isClosed()).toBe(false)
    }
  }
})

it.each<[what: string, respond: (response: OutgoingResponse) => void]>([
  ['ends too early', (response) => response.end('abcd')],
  [
    'ends too early behind a piece',
    (response) => {
      response.write(Buffer.from('ab'))
      response.end('cd')
    },
  ],
  ['ends too late', (response) => response.end('abcdef')],
  ['is too long in one piece', (response) => void response.write(Buffer.from('abcdef'))],
  [
    'is too long in the second piece',
    (response) => {
      response.write(Buffer.from('abcd'))
      response.write(Buffer.from('ef'))
    },
  ],
])('a body that %s never looks complete', async (_what, respond) => {
  const { url } = await runServer((_, response) => {
    response.writeHead(200, ['content-length', '5'])
    respond(response)
    expect(response.isDestroyed).toBe(true)
  })
  const connection = openRawConnection(url)
  connection.write(get + get)
  expect(await connection.waitForEnd()).not.toMatch(/\r\n\r\nabcde|HTTP\/1\.1[^]*HTTP\/1\.1 /)
})

it('a truncated chunked response has no end', async () => {
  const { url } = await runServer((_, response) => {
    response.writeHead(200, text)
    response.write(Buffer.from('abc'), () => response.destroy())
  })
  const connection = openRawConnection(url)
  connection.write(get)
  expect(await connection.waitForEnd()).toMatch(/\r\n\r\n3\r\nabc\r\n$/)
})

const waysToCut: Readonly<Record<string, (response: OutgoingResponse, server: Listener) => void>> = {
  'cut off': (response) => response.destroy(),
  'under way at the end of its server': (_, server) => server.destroyAll(),
}

it.each(Object.entries(waysToCut))(
  'resets the connection of a response without a length if it is %s',
  async (_how, cut) => {
    const started: OutgoingResponse[] = []
    const { url, server } = await runServer((_, response) => {
      response.writeHead(200, text)
      response.write(Buffer.from('abc'))
      started.push(response)
    })
    const connection = openRawConnection(url)
    const failed = once(connection.socket, 'error')
    connection.write('GET / HTTP/1.0\r\n\r\n')
    await connection.waitFor(/abc$/)
    for (const response of started) cut(response, server)
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  },
)

it.each([
  ['a', 'b\r\nc: d'],
  ['a', 'b\nc'],
  ['a', 'b\rc'],
  ['a', 'b\0'],
  ['a', '\u0100'],
  ['a\r\nb', 'c'],
  ['a:', 'c'],
  ['', 'c'],
])('never sends a header %j: %j', async (name, value) => {
  const { url } = await runServer((_, response) => {
    expect(() => response.writeHead(200, ['content-length', '0', name, value])).toThrow('cannot be sent')
    expect(response.hasHead).toBe(false)
    response.writeHead(500, ['content-length', '0'])
    response.end()
  })
  const connection = openRawConnection(url)
  connection.write('GET / HTTP/1.0\r\n\r\n')
  expect(await connection.waitForEnd()).toMatch(
    /^HTTP\/1\.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\ndate: [^\r]+\r\n\r\n$/,
  )
})

const sizes = [1, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000]

it.each(['content-length', 'chunks'])('sends bodies of all sizes byte for byte, with %s', async (framing) => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 256))
  const { url } = await runServer(({ head }, response) => {
    const [how, size] = head.target.slice(1).split('/')
    const body = bytes.subarray(0, Number(size))
    response.writeHead(200, framing === 'chunks' ? [] : ['content-length', String(size)])
    if (how === 'text') return response.end(body.toString('latin1'))
    if (how === 'buffer') return response.end(body)
    for (let at = 0; at < body.length - 5; at += 10_007)
      response.write(body.subarray(at, Math.min(at + 10_007, body.length - 5)))
    return response.end(body.subarray(Math.max(0, body.length - 5)))
  })
  for (const how of ['text', 'buffer', 'pieces']) {
    for (const size of sizes) {
      const request = requestOf(`${url}/${how}/${size}`).end()
      const [response] = await once(request, 'response')
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      expect(Buffer.concat(chunks).equals(bytes.subarray(0, size)), `${how} of ${size}`).toBe(true)
    }
  }
})
