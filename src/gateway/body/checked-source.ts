import { toError } from '../../lib/index.ts'
import type { BodySink, BodySource, WriteCallback } from '../../http1/index.ts'
import type { CheckDecision } from './checked-body.ts'

const nothing = Buffer.alloc(0)

/**
 * Passes a body on while the request is allowed: asks when chunks arrive, and passes the last byte only if it is still
 * allowed then. Chunks are not copied.
 */
export class CheckedSource implements BodySource, BodySink {
  readonly #body: BodySource
  readonly #length: number | undefined
  readonly #check: CheckDecision
  #sink: BodySink | undefined
  #received = 0
  /** The byte that may be the last one. */
  #held: Buffer = nothing
  #isChecking = false

  /** `length` in bytes; undefined if it is unknown. */
  constructor(body: BodySource, length: number | undefined, check: CheckDecision) {
    this.#body = body
    this.#length = length
    this.#check = check
  }

  get isComplete(): boolean {
    return this.#body.isComplete
  }

  start(sink: BodySink): void {
    this.#sink = sink
    this.#body.start(this)
  }

  pause(): void {
    this.#body.pause()
  }

  resume(): void {
    this.#body.resume()
  }

  stop(): void {
    this.#sink = undefined
    this.#body.stop()
  }

  onData(chunk: Buffer, release: WriteCallback | undefined): void {
    this.#received += chunk.length
    const mayBeLast = this.#length === undefined || this.#received >= this.#length
    const passed = Math.max(0, mayBeLast ? chunk.length - 1 : chunk.length)
    this.#passHeld(Buffer.from(chunk.subarray(passed)))
    if (this.#sink === undefined) release?.()
    else this.#sink.onData(chunk.subarray(0, passed), release)
    if (this.#isChecking || this.#sink === undefined) return
    this.#isChecking = true
    this.#afterCheck('meanwhile', () => (this.#isChecking = false))
  }

  onEnd(): void {
    this.#afterCheck('end', () => {
      this.#passHeld(nothing)
      this.#sink?.onEnd()
    })
  }

  onError(error: Error): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.onError(error)
  }

  #passHeld(next: Buffer): void {
    const held = this.#held
    this.#held = next
    if (held.length > 0) this.#sink?.onData(held, undefined)
  }

  #afterCheck(when: 'meanwhile' | 'end', then: () => void): void {
    const checked = this.#check(when)
    if (checked === undefined) then()
    else
      checked.then(then, (error: unknown) => {
        this.#body.stop()
        this.onError(toError(error))
      })
  }
}
