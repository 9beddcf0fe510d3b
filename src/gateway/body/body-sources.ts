import { type RunInSlices, toError } from '../../lib/index.ts'
import type { BodySink, BodySource, WriteCallback } from '../../http1/index.ts'
import { concatChunks, type JsonTransformer } from '../json/json-transformer.ts'
import type { CheckDecision } from './checked-body.ts'
import { failIncomplete } from './read-bounded.ts'

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

/** How the rest of a JSON body is checked on its way. */
interface JsonChecks {
  /** Has read what was taken as the start. */
  readonly text: JsonTransformer
  readonly runInSlices: RunInSlices
  /** Throws CatalogError for a whole text that is not accepted. */
  readonly onEnd: (isObject: boolean) => void
  readonly check: CheckDecision
}

/** Reading a smaller chunk costs less than a pause. */
const minSlicedBytes = 1024

/** Reads a chunk of a body in slices, in which the event loop serves other callers. */
export async function readInSlices(
  text: JsonTransformer,
  chunk: Buffer,
  runInSlices: RunInSlices,
): Promise<void> {
  if (chunk.length < minSlicedBytes) text.push(chunk)
  else await runInSlices(text.pushInSteps(chunk))
}

/**
 * Passes a JSON body on as it is checked: the start that has been read, then the rest as it arrives, one chunk at a time.
 * The last chunk, and the last byte of the JSON, are held back until the whole body is accepted. It fails at the first
 * error, so the upstream never receives complete JSON before all checks have passed.
 */
export class JsonSource implements BodySource, BodySink {
  readonly #body: BodySource
  readonly #arrived: Buffer[] = []
  /** How the body has ended, and whether all of it was passed on. */
  #end: 'arrived' | 'passed' | Error | undefined
  #checks: JsonChecks | undefined
  #sink: BodySink | undefined
  #isPaused = false
  #isReading = false

  /** Takes what has arrived of the body, and stops it. */
  constructor(body: BodySource) {
    this.#body = body
    body.pause()
    body.start(this)
  }

  /** Returns what has arrived, and whether this is all. To be called once, before the rest is checked. */
  takeStart(): { readonly bytes: Buffer; readonly isWhole: boolean } {
    return { bytes: concatChunks(this.#arrived.splice(0)), isWhole: this.#end === 'arrived' }
  }

  /** To be called before the start. */
  checkRest(checks: JsonChecks): this {
    this.#checks = checks
    return this
  }

  get isComplete(): boolean {
    return this.#end === 'passed'
  }

  start(sink: BodySink): void {
    this.#sink = sink
    void this.#readArrived()
  }

  pause(): void {
    this.#isPaused = true
    this.#body.pause()
  }

  resume(): void {
    this.#isPaused = false
    void this.#readArrived()
  }

  stop(): void {
    this.#sink = undefined
    this.#body.stop()
  }

  onData(chunk: Buffer, release: WriteCallback | undefined): void {
    this.#body.pause()
    this.#arrived.push(release === undefined ? chunk : Buffer.from(chunk))
    release?.()
    void this.#readArrived()
  }

  onEnd(): void {
    this.#end = 'arrived'
    void this.#readArrived()
  }

  onError(error: Error): void {
    this.#end = error
    void this.#readArrived()
  }

  async #readArrived(): Promise<void> {
    if (this.#isReading || this.#sink === undefined || this.#checks === undefined) return
    const { text, runInSlices, check, onEnd } = this.#checks
    this.#isReading = true
    try {
      for (let chunk = this.#arrived.shift(); chunk !== undefined; chunk = this.#arrived.shift()) {
        await readInSlices(text, chunk, runInSlices)
        this.#pass(text.takeReady())
        await check('meanwhile')
      }
      if (this.#end instanceof Error) failIncomplete(this.#end)
      if (this.#end === 'arrived') {
        onEnd(text.end())
        await check('end')
        this.#pass(text.takeRest())
        this.#endPassed()
      }
    } catch (error) {
      const sink = this.#sink
      this.stop()
      sink?.onError(toError(error))
      return
    }
    this.#isReading = false
    if (!this.#isPaused && this.#end === undefined) this.#body.resume()
  }

  #endPassed(): void {
    this.#end = 'passed'
    this.#sink?.onEnd()
  }

  #pass(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.#sink?.onData(chunk, undefined)
  }
}
