import type { Readable } from 'node:stream'
import { ownedBy, type TaskOwner } from '../../lib/async/owned-tasks.ts'
import type { BodySink, BodySource } from '../codec/body-source.ts'
import { TransportError } from './transport-error.ts'

/** The body that a stream provides. It is destroyed when its body is stopped. */
export class StreamSource implements BodySource, TaskOwner {
  readonly #stream: Readable
  #sink: BodySink | undefined

  constructor(stream: Readable) {
    this.#stream = stream
  }

  get isComplete(): boolean {
    return this.#stream.readableEnded
  }

  start(sink: BodySink): void {
    const stream = this.#stream
    this.#sink = sink
    stream
      .on('data', this.#onData)
      .on('end', this.#onEnd)
      .on('close', this.#onClose)
      .on('error', this.#onError)
    // A stream that was destroyed before emits nothing any more.
    if (stream.destroyed && !stream.readableEnded)
      queueMicrotask(() => (stream.errored ? this.#onError(stream.errored) : this.#onClose()))
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  stop(): void {
    this.#sink = undefined
    this.#stream
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('close', this.#onClose)
      .off('error', this.#onError)
      .on('error', () => undefined)
      .destroy()
  }

  fail(error: Error): void {
    this.#sink?.onError(error)
  }

  readonly #onData = ownedBy(this, (chunk: Buffer) => this.#sink?.onData(chunk, undefined))

  readonly #onEnd = ownedBy(this, () => this.#sink?.onEnd())

  readonly #onError = ownedBy(this, (error: Error) => this.fail(error))

  readonly #onClose = (): void => {
    this.#onError(new TransportError('BAD_REQUEST', 'the body of the request ended before it was complete'))
  }
}
