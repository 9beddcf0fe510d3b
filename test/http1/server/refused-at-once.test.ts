import { expect, it } from 'vitest'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { bodyOf, runServer, respondText, type RunningServer } from './running-server.ts'

// None of these can become valid: waiting for more bytes would only hold a connection.

function runEcho(headersTimeoutMs = 60_000): Promise<RunningServer> {
  return runServer(
    (request, response) => {
      bodyOf(request).then(
        (body) => respondText(response, body.toString('latin1')),
        () => undefined,
      )
    },
    { timeouts: { headersTimeoutMs } },
  )
}

const head = 'POST / HTTP/1.1\r\nhost: g\r\n'
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`

// All other errors of heads and chunks are in request-heads and codec/chunked-bodies.
it.each([
  ['a first byte that begins no method', '\0'],
  ['a bare line feed before the method', '\n'],
  ['a carriage return alone before the method', '\rG'],
  ['an invalid empty line', '\r\n\rG'],
  ['a method that never ends', 'G'.repeat(33)],
  ['two blanks behind the method', 'GET  '],
  ['NUL in a header', `${head}x: \0\r\n\r\n`],
  ['a line feed alone in a header', `${head}x: a\nb: c\r\n\r\n`],
  ['an invalid size of a chunk', `${chunked}g`],
  ['text behind a chunk', `${chunked}1\r\nab`],
  ['endless trailers', `${chunked}0\r\n${'a: b\r\n'.repeat(2_731)}`],
])('%s gets a 400, and the connection is closed', async (_what, bytes) => {
  const { url, errors } = await runEcho()
  const connection = openRawConnection(url)
  connection.write(Buffer.from(bytes, 'latin1'))
  expect(await connection.waitForEnd()).toMatch(
    /^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\nconnection: close\r\n[^]*error: malformed_request$/,
  )
  expect(connection.received().match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
  expect(errors).toEqual(['malformed_request'])
})

it.each([
  ['whole', `${head}x: ${'y'.repeat(8_192)}\r\n\r\n`],
  ['that never ends', `${head}x: ${'y'.repeat(8_192)}`],
  ['of one line that never ends', `GET /${'y'.repeat(8_192)}`],
])('an oversized head, %s, gets a 431, and the connection is closed', async (_what, bytes) => {
  const { url, errors } = await runEcho()
  const connection = openRawConnection(url)
  connection.write(bytes)
  expect(await connection.waitForEnd()).toMatch(
    /^HTTP\/1\.1 431 [^]*\r\nconnection: close\r\n[^]*error: headers_too_large$/,
  )
  expect(errors).toEqual(['headers_too_large'])
})

it.each([
  ['a line that does not end', 'GET / HTTP/1.1\r'],
  ['a head that does not end', `${head}\r`],
])('waits for the rest of %s, and responds with 408 after the timeout', async (_what, bytes) => {
  const { url, errors } = await runEcho(200)
  const connection = openRawConnection(url)
  connection.write(bytes)
  expect(await connection.waitForEnd()).toMatch(
    /^HTTP\/1\.1 408 [^]*\r\nconnection: close\r\n[^]*error: request_timeout$/,
  )
  expect(errors).toEqual(['request_timeout'])
})

it.each([
  ['a line', 'GET / HTT'],
  ['a head', `${head}x`],
  ['a body', `${head}content-length: 2\r\n\r\na`],
  ['a chunk', `${chunked}2\r\na`],
  ['chunks', `${chunked}1\r\na\r\n`],
  ['trailers', `${chunked}0\r\na: b\r\n`],
  ['the head of a pipelined request', 'GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nhos'],
])(
  'a client that ends in the middle of %s gets an error, and the connection is closed',
  async (_what, bytes) => {
    const { url, errors } = await runEcho()
    const connection = openRawConnection(url)
    connection.socket.end(bytes)
    expect(await connection.waitForEnd()).toMatch(
      /HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n[^]*error: incomplete_request$/,
    )
    expect(errors).toEqual(['incomplete_request'])
  },
)

it('a client that ends without bytes, or after a response, gets no error', async () => {
  const { url, errors } = await runEcho()
  const silent = openRawConnection(url)
  silent.socket.end()
  expect(await silent.waitForEnd()).toBe('')
  const responded = openRawConnection(url)
  responded.write('GET / HTTP/1.1\r\n\r\n')
  await responded.waitFor(/200 OK/)
  responded.socket.end()
  expect((await responded.waitForEnd()).match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
  expect(errors).toEqual([])
})

it('recognizes TLS on a plain port', async () => {
  const { url, errors } = await runEcho()
  const connection = openRawConnection(url)
  connection.write(Buffer.from('1603010200010001fc0303', 'hex'))
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 400 /)
  expect(errors).toEqual(['tls_on_plain_port'])
})

it('does not parse requests behind an error', async () => {
  const { url, errors } = await runEcho()
  const connection = openRawConnection(url)
  connection.write(`${chunked}zz\r\nGET /smuggled HTTP/1.1\r\nhost: g\r\n\r\n`)
  connection.write('GET /smuggled HTTP/1.1\r\nhost: g\r\n\r\n')
  expect((await connection.waitForEnd()).match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
  expect(errors).toEqual(['malformed_request'])
})
