// Upstream of all measurements: responds as fast as a Node process can. It only parses the framing of a request and the
// table name, which selects the response. Arguments: its port, and the sizes of the large bodies. Uses TLS if the
// environment names the files of a certificate.
import { createHash, type Hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import {
  bodySizes,
  commitResponse,
  digestTable,
  dotSegmentsStatus,
  downloadOf,
  smallResponse,
  uploadResponse,
  type BodySize,
} from '../upstream-contract.ts'

const [port, ...sizes] = process.argv.slice(2)
const chunkBytes = 64 * 1024
const small = responseOf(Buffer.from(smallResponse))
const committed = responseOf(Buffer.from(commitResponse))
const uploaded = responseOf(Buffer.from(uploadResponse))
const downloads = new Map<string, Buffer>(
  sizes.flatMap((size) => {
    const body = downloadOf(bodySizes[size as BodySize])
    return [
      [`$sized-${size}/query`, responseOf(body)],
      [`$chunked-${size}/query`, chunkedResponseOf(body)],
    ] as const
  }),
)
const withDotSegments = responseOf(Buffer.from('{}'), dotSegmentsStatus)

const { BENCH_CERT_FILE: certFile, BENCH_KEY_FILE: keyFile } = process.env
const server =
  certFile === undefined || keyFile === undefined
    ? createServer({ noDelay: true }, serve)
    : createTlsServer({ noDelay: true, cert: readFileSync(certFile), key: readFileSync(keyFile) }, serve)
server.listen(Number(port), '127.0.0.1')

/** Next part of a request: its head, a body of known length, or the size, the data or the end of a chunk. */
type Expected = 'head' | 'body' | 'size' | 'chunk' | 'chunk-end' | 'trailer'

function serve(socket: Socket): void {
  let expected: Expected = 'head'
  let left = 0
  let line = ''
  let response: Buffer | undefined
  let digest: Hash | undefined

  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    for (let at = 0; at < chunk.length;)
      at = expected === 'body' || expected === 'chunk' ? take(chunk, at) : read(chunk, at)
  })

  /** Consumes the available body data. */
  function take(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + left)
    digest?.update(chunk.subarray(at, end))
    left -= end - at
    if (left > 0) return end
    if (expected === 'chunk') expected = 'chunk-end'
    else finish()
    return end
  }

  /** Reads a head or a line between chunks; either may arrive in several parts. */
  function read(chunk: Buffer, at: number): number {
    const mark = expected === 'head' ? '\r\n\r\n' : '\r\n'
    const before = line.length
    line += chunk.toString('latin1', at)
    const end = line.indexOf(mark, Math.max(0, before - mark.length))
    if (end < 0) return chunk.length
    const next = at + end + mark.length - before
    const whole = line.slice(0, end)
    line = ''
    if (expected === 'head') readHead(whole)
    else if (expected === 'size') readSize(whole)
    else if (expected === 'chunk-end') expected = 'size'
    else if (whole === '') finish()
    return next
  }

  function readHead(head: string): void {
    response = responseTo(head)
    digest = head.includes(`${digestTable}/`) ? createHash('sha256') : undefined
    left = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    if (left > 0) expected = 'body'
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) expected = 'size'
    else finish()
  }

  function readSize(line: string): void {
    left = Number.parseInt(line, 16)
    expected = left > 0 ? 'chunk' : 'trailer'
  }

  function finish(): void {
    expected = 'head'
    socket.write(
      digest === undefined
        ? (response ?? small)
        : responseOf(Buffer.from(`{"digest":"${digest.digest('hex')}"}`)),
    )
  }
}

function responseTo(head: string): Buffer {
  const path = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP'))
  if (/\.\.|%2e/i.test(path)) return withDotSegments
  if (path.endsWith('/version/create')) return committed
  if (path.endsWith('/insert')) return uploaded
  return downloads.get(path.slice(path.search(/\$|%24/)).replace('%24', '$')) ?? small
}

function responseOf(body: Buffer, status = 200): Buffer {
  return Buffer.concat([headOf(`content-length: ${body.length}`, status), body])
}

function chunkedResponseOf(body: Buffer): Buffer {
  const parts = [headOf('transfer-encoding: chunked')]
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

function headOf(framing: string, status = 200): Buffer {
  return Buffer.from(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`,
  )
}
