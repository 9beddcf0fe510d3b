import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { BodyWriter } from '../../http/body-writer.ts'
import { giveBack } from '../../http/read-memory.ts'
import type { RequestHead } from './request-head.ts'
import { TransportError } from './transport-error.ts'

/** Who is told how the sending of a body goes on. */
export interface SendingEvents {
  progressed(): void
  /** All of it was written. */
  sent(): void
  failed(error: Error): void
}

/**
 * Sends a head, together with the first piece of its body, and the rest of the body as it comes, no faster than the
 * upstream takes it: exactly as long as the head says, or in chunks. Where its pieces are nobody else's, their memory
 * is given back when they are written. Returns what ends it early, and lets go of the body.
 */
export function sendBody(
  socket: Socket,
  { text, length }: RequestHead,
  { body, ownsBody }: { readonly body: Readable; readonly ownsBody: boolean },
  events: SendingEvents,
): () => void {
  const writer = new BodyWriter(socket, text, length === undefined)
  let isLeft = false
  let written = 0

  const leave = (): void => {
    if (isLeft) return
    isLeft = true
    socket.off('drain', drained)
    body.off('data', write).off('end', end).off('close', closed)
    body.off('error', fail).on('error', ignore)
    body.destroy()
  }
  const fail = (error: Error): void => {
    if (isLeft) return
    leave()
    events.failed(error)
  }
  const write = (piece: Buffer): void => {
    written += piece.length
    if (length !== undefined && written > length) return fail(mismatch('longer'))
    if (piece.length === 0) return
    const takesMore = writer.write(piece, ownsBody ? (error) => !error && giveBack(piece) : undefined)
    if (!takesMore) body.pause()
    events.progressed()
  }
  const end = (): void => {
    if (length !== undefined && written < length) return fail(mismatch('shorter'))
    writer.end()
    leave()
    events.sent()
  }
  const closed = (): void => fail(new TransportError('BAD_REQUEST', 'the body of the request broke off'))
  const drained = (): void => {
    events.progressed()
    body.resume()
  }

  body.on('data', write).on('end', end).on('close', closed).on('error', fail)
  socket.on('drain', drained)
  // Its events are over.
  if (body.destroyed && !body.readableEnded)
    queueMicrotask(() => (body.errored ? fail(body.errored) : closed()))
  return leave
}

function mismatch(how: string): TransportError {
  return new TransportError('BAD_REQUEST', `the body of the request is ${how} than its content-length`)
}

function ignore(): void {}
