import type { BodySink, BodySource } from '../../http1/codec/body-source.ts'
import type { WriteCallback } from '../../http1/codec/message-writer.ts'
import type { RunInSlices } from '../../lib/async/run-in-slices.ts'
import { toError } from '../../lib/errors/to-error.ts'
import type { JsonTransformer } from '../json/json-transformer.ts'
import type { CheckDecision } from './checked-source.ts'
import { concatChunks, toBodyError } from './read-body.ts'

/** How the rest of a JSON body is checked on its way. */
export interface JsonChecks {
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
  #hasEnded = false
  #error: Error | undefined
  #checks: JsonChecks | undefined
  #sink: BodySink | undefined
  #isPaused = false
  #isReading = false
  #isComplete = false

  /** Takes what has arrived of the body, and stops it. */
  constructor(body: BodySource) {
    this.#body = body
    body.pause()
    body.start(this)
  }

  /** Returns what has arrived, and whether this is all. To be called once, before the rest is checked. */
  takeStart(): { readonly bytes: Buffer; readonly isWhole: boolean } {
    return { bytes: concatChunks(this.#arrived.splice(0)), isWhole: this.#hasEnded }
  }

  /** To be called before the start. */
  checkRest(checks: JsonChecks): this {
    this.#checks = checks
    return this
  }

  /** Whether all of it was passed on. */
  get isComplete(): boolean {
    return this.#isComplete
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
    this.#hasEnded = true
    void this.#readArrived()
  }

  onError(error: Error): void {
    this.#error = toBodyError(error)
    void this.#readArrived()
  }

  async #readArrived(): Promise<void> {
    const checks = this.#checks
    if (this.#isReading || this.#sink === undefined || checks === undefined) return
    this.#isReading = true
    try {
      for (let chunk = this.#arrived.shift(); chunk !== undefined; chunk = this.#arrived.shift())
        await this.#passChunk(chunk, checks)
      if (this.#hasEnded) await this.#end(checks)
      if (this.#error !== undefined) throw this.#error
    } catch (error) {
      const sink = this.#sink
      this.stop()
      sink?.onError(toError(error))
      return
    }
    this.#isReading = false
    if (!this.#isPaused && !this.#isComplete) this.#body.resume()
  }

  async #passChunk(chunk: Buffer, { text, runInSlices, check }: JsonChecks): Promise<void> {
    await readInSlices(text, chunk, runInSlices)
    this.#pass(text.takeReady())
    await check('meanwhile')
  }

  async #end({ text, onEnd, check }: JsonChecks): Promise<void> {
    onEnd(text.end())
    await check('end')
    this.#pass(text.takeRest())
    this.#isComplete = true
    this.#sink?.onEnd()
  }

  #pass(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.#sink?.onData(chunk, undefined)
  }
}
