import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { MessageWriter } from '../codec/message-writer.ts'
import { releaseReadMemory } from '../codec/read-memory.ts'
import type { SerializedHead } from './outgoing-request.ts'
import { TransportError } from './transport-error.ts'

export interface SendBodyHandler {
  onProgress(): void
  onSent(): void
  onError(error: Error): void
}

/**
 * Fails if the body is not as long as its content-length. Returns a function that stops sending and destroys the
 * stream.
 */
export function sendBody(
  socket: Socket,
  { text, length }: SerializedHead,
  { body, releasesChunks }: { readonly body: Readable; readonly releasesChunks: boolean },
  handler: SendBodyHandler,
): () => void {
  const writer = new MessageWriter(socket, text, length === undefined)
  let isStopped = false
  let written = 0

  const stop = (): void => {
    if (isStopped) return
    isStopped = true
    socket.off('drain', onDrain)
    body.off('data', onData).off('end', onEnd).off('close', onClose)
    body.off('error', fail).on('error', () => undefined)
    body.destroy()
  }
  const fail = (error: Error): void => {
    if (isStopped) return
    stop()
    handler.onError(error)
  }
  const onData = (chunk: Buffer): void => {
    written += chunk.length
    if (length !== undefined && written > length) return fail(createLengthError('longer'))
    if (chunk.length === 0) return
    const canWrite = writer.write(
      chunk,
      releasesChunks ? (error) => !error && releaseReadMemory(chunk) : undefined,
    )
    if (!canWrite) body.pause()
    handler.onProgress()
  }
  const onEnd = (): void => {
    if (length !== undefined && written < length) return fail(createLengthError('shorter'))
    writer.end()
    stop()
    handler.onSent()
  }
  const onClose = (): void =>
    fail(new TransportError('BAD_REQUEST', 'the body of the request ended before it was complete'))
  const onDrain = (): void => {
    handler.onProgress()
    body.resume()
  }

  body.on('data', onData).on('end', onEnd).on('close', onClose).on('error', fail)
  socket.on('drain', onDrain)
  // A stream that was destroyed before emits nothing any more.
  if (body.destroyed && !body.readableEnded)
    queueMicrotask(() => (body.errored ? fail(body.errored) : onClose()))
  return stop
}

function createLengthError(comparison: 'longer' | 'shorter'): TransportError {
  return new TransportError('BAD_REQUEST', `the body of the request is ${comparison} than its content-length`)
}
