import { connect } from 'node:net'
import type { TestedGateway } from './open-gateway.ts'
import { createTestResponse, type TestResponse } from './test-response.ts'

/** How long the gateway may leave an idle connection open. */
const timeoutMs = 10_000

/** Bytes of a connection, in one or several chunks. */
type Parts = string | Buffer | AsyncIterable<string | Buffer>

/** Sends bytes, and reads responses until the gateway closes the connection. Throws for an incomplete response. */
export async function sendRaw(url: string, parts: Parts): Promise<TestResponse[]> {
  return responsesIn(await readRaw(url, parts))
}

/** Sends bytes, and reads until the gateway closes the connection. Throws if it does not. */
export async function readRaw(url: string, parts: Parts): Promise<Buffer> {
  const { hostname, port } = new URL(url)
  // The gateway may end its side while parts are still to be sent.
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A gateway that closes the connection during an upload resets it; its response arrives first.
  socket.on('error', () => undefined)
  let isSent = false
  socket.once('end', () => isSent && socket.end())
  let isForgotten = false
  socket.setTimeout(timeoutMs, () => {
    isForgotten = true
    socket.destroy()
  })
  const isWhole = typeof parts === 'string' || Buffer.isBuffer(parts)
  for await (const part of isWhole ? [parts] : parts) {
    socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
  }
  isSent = true
  if (socket.readableEnded) socket.end()
  await closed
  const bytes = Buffer.concat(chunks)
  if (isForgotten) throw new Error(`the connection was left open after ${JSON.stringify(String(bytes))}`)
  return bytes
}

/** Serializes a request: its lines, each with CRLF, an empty line, and its body. */
export function rawRequest(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Serializes a request with the key of a principal. */
export function keyedRequest(
  { key }: Pick<TestedGateway, 'key'>,
  as: string,
  line: string,
  lines: readonly string[] = [],
  body = '',
): string {
  return rawRequest([`${line} HTTP/1.1`, 'host: g', `x-api-key: ${key(as)}`, ...lines], body)
}

/** A request as written by an attacker, never normalized. Text is latin1. */
export interface WrittenRequest {
  readonly method: string
  readonly target: string
  /** Header lines. */
  readonly lines: readonly string[]
  readonly body: Buffer | undefined
}

/** Sends a request on a connection of its own. Resolves with undefined if it was refused without a response. */
export async function sendWritten(
  url: string,
  { method, target, lines, body }: WrittenRequest,
): Promise<TestResponse | undefined> {
  const head = [`${method} ${target} HTTP/1.1`, 'host: gateway.example', 'connection: close', ...lines]
  const [response, ...others] = await sendRaw(url, rawUpload(head, body ?? Buffer.alloc(0)))
  if (others.length > 0) throw new Error('there is more than one response')
  return response
}

/** Parses consecutive responses with a content-length. */
function responsesIn(bytes: Buffer): TestResponse[] {
  const responses: TestResponse[] = []
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(lines.map(readHeader))
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    const next = end + 4 + Number(headers['content-length'])
    if (end === -1 || !(next <= rest.length)) {
      throw new Error(`not a whole answer with a content-length: ${JSON.stringify(rest.toString('latin1'))}`)
    }
    responses.push(createTestResponse(status, headers, rest.subarray(end + 4, next)))
    rest = rest.subarray(next)
  }
  return responses
}

function readHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}

/** Writes a request with a binary body. */
export function rawUpload(lines: readonly string[], body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(rawRequest(lines), 'latin1'), body])
}

/** Frames bytes as one chunk of a body. */
export function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
