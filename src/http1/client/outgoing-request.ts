import type { Socket } from 'node:net'
import { ownedBy } from '../../lib/index.ts'
import type { BodySource } from '../codec/body-source.ts'
import { contentLengthGrammar, isHeaderField } from '../codec/header-fields.ts'
import { MessageWriter, type WriteCallback } from '../codec/message-writer.ts'
import { TransportError } from './transport-error.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly path: string
  /** Names and values in turn. A `content-length` is used for a source only; without one, the body is sent in chunks. */
  readonly headers: readonly string[]
  readonly body: Buffer | BodySource | null
}

interface SerializedHead {
  readonly text: string
  /** Length of the body; undefined for the chunked coding. */
  readonly length: number | undefined
}

const targetGrammar = /^\/[\x21-\x7e]*$/
/** Only the client writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'transfer-encoding'])

/** Throws TransportError for a request that a server could parse as anything but exactly this request. */
export function serializeRequestHead(
  { method, path, headers, body }: OutgoingRequest,
  host: string,
): SerializedHead {
  if (!targetGrammar.test(path)) throw badRequest('target')
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  let length = body === null ? 0 : Buffer.isBuffer(body) ? body.length : undefined
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const value = headers[index + 1] ?? ''
    if (connectionHeaders.has(name) || !isHeaderField(name, value)) throw badRequest('header')
    if (name !== 'content-length') text += `${name}: ${value}\r\n`
    else length ??= parseLength(value)
  }
  if (length === undefined) text += 'transfer-encoding: chunked\r\n'
  else if (body !== null || method === 'POST') text += `content-length: ${length}\r\n`
  return { text: `${text}\r\n`, length }
}

function parseLength(value: string): number {
  if (!contentLengthGrammar.test(value)) throw badRequest('content-length')
  return Number(value)
}

function badRequest(part: string): TransportError {
  return new TransportError('BAD_REQUEST', `the ${part} of the request is invalid`)
}

interface SendBodyHandler {
  onProgress(): void
  onSent(): void
  onError(error: Error): void
}

/** Fails if the body is not as long as its content-length. Returns a function that stops sending. */
export function sendBody(
  socket: Socket,
  { text, length }: SerializedHead,
  body: BodySource,
  handler: SendBodyHandler,
): () => void {
  let written = 0
  const stop = (): void => {
    socket.off('drain', onDrain)
    body.stop()
  }
  const fail = (error: Error): void => {
    stop()
    handler.onError(error)
  }
  const writer = new MessageWriter({ fail }, socket, text, length === undefined)
  const onDrain = ownedBy({ fail }, () => {
    handler.onProgress()
    body.resume()
  })
  socket.on('drain', onDrain)
  body.start({
    onData(chunk, release) {
      written += chunk.length
      if (length !== undefined && written > length) {
        release?.()
        fail(createLengthError('longer'))
      } else if (chunk.length === 0) {
        release?.()
      } else {
        if (!writer.write(chunk, release)) body.pause()
        handler.onProgress()
      }
    },
    onEnd() {
      if (length !== undefined && written < length) {
        fail(createLengthError('shorter'))
        return
      }
      writer.end()
      stop()
      handler.onSent()
    },
    onError: fail,
  })
  return stop
}

function createLengthError(comparison: 'longer' | 'shorter'): TransportError {
  return new TransportError('BAD_REQUEST', `the body of the request is ${comparison} than its content-length`)
}

/** For reading the response after a failed write. */
const readTimeoutMs = 1_000

/**
 * Reports a failed write only when the input has been read: an upstream may respond to an incomplete upload and close
 * the connection, and node would destroy the socket with the response unread. Node has no option for that.
 */
export function deferWriteErrors(socket: Socket): void {
  const write = socket._write.bind(socket)
  const writev = socket._writev?.bind(socket)
  const deferred =
    (callback: WriteCallback): WriteCallback =>
    (error) =>
      error ? callAfterClose(socket, () => callback(error)) : callback()
  socket._write = (chunk, encoding, callback) => write(chunk, encoding, deferred(callback))
  if (writev) socket._writev = (chunks, callback) => writev(chunks, deferred(callback))
}

function callAfterClose(socket: Socket, proceed: () => void): void {
  const finish = (): void => {
    clearTimeout(timer)
    socket.off('close', finish)
    proceed()
  }
  const timer = setTimeout(finish, readTimeoutMs)
  socket.once('close', finish)
}
