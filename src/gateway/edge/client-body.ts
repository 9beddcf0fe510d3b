import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { InterfaceError } from '../../interface/errors.ts'
import { ClientGone } from './client-gone.ts'

/** How slow a client may be with a body. */
export interface BodyPace {
  /** Milliseconds without a piece of the body. */
  readonly patienceMs: number
  /** Each byte earns back its share of the patience that was used up. */
  readonly bytesPerSecond: number
}

/** A body did not arrive in time: 408. The connection is of no use any more. */
export class BodyTooSlow extends InterfaceError {
  constructor() {
    super('InvalidInput', 'the body of the request did not arrive in time', { status: 408 })
  }
}

/** The body of a request for the stages that read it. */
export interface ClientBody {
  /** Fails with BodyTooSlow. To destroy it leaves the connection alone. */
  readonly stream: Readable
  /**
   * Resolves when enough of the body is there to spend a connection to an upstream on it: its beginning, or all of
   * it. Rejects with what the stream fails with.
   */
  begun(): Promise<void>
  /** Ends the reading, whatever is left of the body. */
  release(): void
}

const highWaterMark = 64 * 1024
/** What a client that sends a byte now and then never comes to. */
const beginningBytes = 16 * 1024

/**
 * The body of a request, as far as it has not arrived yet, under the clock: only the time counts in which it is
 * being read and the client does not send. A client that waits for `100 Continue` is told so with the first read:
 * it has been admitted by then, and its body is wanted.
 */
export function clientBody(
  request: IncomingMessage,
  response: ServerResponse,
  { patienceMs, bytesPerSecond }: BodyPace,
): ClientBody {
  if (request.complete) return { stream: request, begun: () => Promise.resolve(), release: () => undefined }
  let patience = patienceMs
  let waitingSince: number | undefined
  let timer: NodeJS.Timeout | undefined
  let taken = 0
  let settleBegun: ((error?: Error | null) => void) | undefined

  const stream = new Readable({
    highWaterMark,
    read() {
      if (timer === undefined) begin()
      waitingSince ??= performance.now()
      request.resume()
    },
    destroy(error, done) {
      leave()
      request.pause()
      settleBegun?.(error)
      done(error)
    },
  })
  // It may fail while nobody reads it; whoever does is told as well.
  stream.on('error', () => undefined)
  return { stream, begun: waitForBeginning, release: () => void stream.destroy() }

  function waitForBeginning(): Promise<void> {
    if (stream.errored) return Promise.reject(stream.errored)
    if (taken >= beginningBytes || request.complete) return Promise.resolve()
    return new Promise((resolve, reject) => {
      settleBegun = (error) => (error ? reject(error) : resolve())
      stream.read(0)
    })
  }

  function begin(): void {
    timer = setTimeout(look, patienceMs).unref()
    request.on('data', take).on('end', end).on('error', broken).on('close', broken)
    if (request.destroyed) broken()
    else if (expectsContinue(request) && !response.headersSent) response.writeContinue()
  }

  function leave(): void {
    clearTimeout(timer)
    request.off('data', take).off('end', end).off('error', broken).off('close', broken)
  }

  function take(chunk: Buffer): void {
    const now = performance.now()
    patience = Math.min(patienceMs, left(now) + (chunk.length * 1000) / bytesPerSecond)
    waitingSince = stream.push(chunk) ? now : undefined
    if (waitingSince === undefined) request.pause()
    taken += chunk.length
    if (taken >= beginningBytes) settleBegun?.()
  }

  function left(now: number): number {
    return patience - (waitingSince === undefined ? 0 : now - waitingSince)
  }

  function end(): void {
    leave()
    stream.push(null)
    settleBegun?.()
  }

  function broken(error?: Error): void {
    stream.destroy(new ClientGone('the client broke off its body', { cause: error }))
  }

  function look(): void {
    // After a pause of this process the bytes of the client may lie there unread: they are read first.
    setImmediate(() => {
      if (stream.destroyed || request.complete) return
      const remaining = left(performance.now())
      if (remaining <= 0) stream.destroy(new BodyTooSlow())
      else timer = setTimeout(look, remaining).unref()
    })
  }
}

/** Whether the client holds its body back until it is told to continue (RFC 9110, section 10.1.1). */
export function expectsContinue({ headers, httpVersionMinor }: IncomingMessage): boolean {
  return httpVersionMinor > 0 && headers.expect?.toLowerCase() === '100-continue'
}
