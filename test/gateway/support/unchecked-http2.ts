import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import {
  FrameReader,
  frameTypes,
  preface,
  writeFrame,
  writeHead,
  type Field,
} from '../../support/http2-frames.ts'
import { receiveHead } from './http2-client.ts'
import { createTestResponse, type TestResponse } from './test-response.ts'

/**
 * Sends a request with these fields, which a client of HTTP/2 would refuse to send: node's client sends another head,
 * which is replaced on the way. Resolves with undefined if the stream is reset, or the connection is closed.
 */
export async function sendUnchecked(
  url: string,
  fields: readonly Field[],
  body: Buffer | undefined,
): Promise<TestResponse | undefined> {
  const session = connectHttp2(url, { createConnection: () => replaceHeads(url, fields) })
  session.on('error', () => undefined)
  const method = fields.find(([name]) => name === ':method')?.[1]
  const stream = session.request(
    { ':method': method === 'HEAD' ? 'HEAD' : 'POST' },
    { endStream: body === undefined },
  )
  if (body !== undefined) stream.end(body)
  try {
    const { statusCode, headers } = await receiveHead(stream)
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return createTestResponse(statusCode, headers, Buffer.concat(chunks))
  } catch {
    return undefined
  } finally {
    session.destroy()
  }
}

/** A connection that replaces the head of each request. */
function replaceHeads(url: string, fields: readonly Field[]): Duplex {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const reader = new FrameReader()
  let hasPreface = false
  const replace = (bytes: Buffer): Buffer => {
    const frames = hasPreface ? bytes : bytes.subarray(preface.length)
    const before = hasPreface ? [] : [preface]
    hasPreface = true
    const replaced = reader
      .read(frames)
      .map(({ type, flags, streamId, payload }) =>
        type === frameTypes.headers
          ? writeHead(streamId, fields, flags % 2 === 1)
          : writeFrame(type, flags, streamId, payload),
      )
    return Buffer.concat([...before, ...replaced])
  }
  const connection = new Duplex({
    read: () => void socket.resume(),
    write: (bytes: Buffer, _encoding, callback) => void socket.write(replace(bytes), callback),
    final: (callback) => void socket.end(callback),
    destroy(error, callback) {
      socket.destroy()
      callback(error)
    },
  })
  socket
    .on('data', (bytes: Buffer) => connection.push(bytes) || socket.pause())
    .on('end', () => connection.push(null))
    .on('error', () => undefined)
    .on('close', () => connection.destroy())
  return connection
}
