import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '../../lib/async/backoff.ts'
import { listSegments, type LogSegment } from '../storage/log-segments.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import {
  countRecordsAfter,
  getCursorPath,
  readBatch,
  readCursor,
  reportRefused,
  writeCursor,
  type Cursor,
} from './log-follower.ts'
import { ContentRefused, type Delivery, type DurableEnd, type Sink } from './sink.ts'

/** Receives delivery events for metrics. Must not throw. */
export interface SinkObserver {
  delivered(sink: string, records: number): void
  /** A batch was not accepted, or the log could not be read; it is retried. */
  failed(sink: string, error: unknown): void
  /** The cursor could not be written; after a crash, more records are delivered twice. */
  cursorNotSaved(sink: string, error: unknown): void
  /** The receiver rejected these records permanently. */
  rejected(sink: string, records: number, message: string): void
}

export interface SinkStatus {
  readonly lagRecords: number
  /** Age of the oldest of them; 0 if there are none. */
  readonly lagSeconds: number
  /** Milliseconds since 1970; undefined until the first successful delivery. */
  readonly lastSuccess: number | undefined
}

export const deliveryTimeoutMs = 10_000

/** What makes a batch, and when it is delivered again. */
export interface DeliveryTuning {
  readonly maxBatchRecords: number
  /** Bytes of the log. */
  readonly maxBatchBytes: number
  /** How long a record may wait for a batch to fill. */
  readonly maxWaitMs: number
  /** A batch that takes longer is delivered again. */
  readonly timeoutMs: number
  readonly minBackoffMs: number
  readonly maxBackoffMs: number
}

export const defaultTuning: DeliveryTuning = {
  maxBatchRecords: 500,
  maxBatchBytes: 1024 * 1024,
  maxWaitMs: 200,
  timeoutMs: deliveryTimeoutMs,
  minBackoffMs: 500,
  maxBackoffMs: 60_000,
}

export interface SinkDeliveryOptions {
  readonly name: string
  readonly tuning: DeliveryTuning
  readonly folder: string
  readonly sink: Sink
  readonly observer: SinkObserver
}

/** Undelivered records are retained for at most this long. */
const maxLagSeconds = 7 * 86_400
/** Minimum interval between cursor writes, and the polling interval without a wake-up. */
const cursorSaveIntervalMs = 1_000
const pollMs = 1_000

/** Tries of one record before it counts as refused. */
const maxRefusals = 3

/**
 * Delivers a log to one sink, in order and at least once. The log is the queue; a restart continues from the cursor. A
 * record whose content the receiver refuses is replaced by a report of that, if the receiver accepts the report; otherwise
 * the receiver refuses everything, and is tried until it does not.
 */
export class SinkDelivery {
  readonly name: string
  readonly #options: SinkDeliveryOptions
  readonly #path: string
  /** The segments up to the active one of that time. */
  #segments: readonly LogSegment[]
  readonly #closing = new AbortController()
  #getDurableEnd: (() => DurableEnd) | undefined
  /** Number of records after the cursor when the durable record `seq` was the last. */
  #backlog = { count: 0, seq: 0 }
  #cursor: Cursor | undefined
  #saved: { cursor: Cursor | undefined; at: number } = { cursor: undefined, at: 0 }
  #batchRecords: number
  #oldestUndeliveredMs: number | undefined
  #refusals: { readonly id: string; readonly count: number } | undefined
  #lastSuccess: number | undefined
  #wake: (() => void) | undefined
  #running: Promise<void> | undefined
  #attempt = new AbortController()
  #isStopped = false
  #lastReadEnd: DurableEnd | undefined

  private constructor(
    options: SinkDeliveryOptions,
    path: string,
    cursor: Cursor | undefined,
    segments: readonly LogSegment[],
  ) {
    this.#segments = segments
    this.#options = options
    this.name = options.name
    this.#path = path
    this.#cursor = cursor
    this.#saved.cursor = cursor
    this.#batchRecords = options.tuning.maxBatchRecords
  }

  static async open(options: SinkDeliveryOptions): Promise<SinkDelivery> {
    const path = getCursorPath(options.folder, options.name)
    const segments = (await listSegments(options.folder).catch(ignoreMissing)) ?? []
    return new SinkDelivery(options, path, await readCursor(path), segments)
  }

  /** The segment that retention keeps for this sink; undefined if none, or if the sink is too far behind. */
  get neededSegment(): string | undefined {
    if (this.status().lagSeconds > maxLagSeconds) return undefined
    // A previously empty folder contains exactly the active segment after the start.
    return this.#cursor?.file ?? this.#segments[0]?.file ?? this.#getDurableEnd?.().file
  }

  status(): SinkStatus {
    const { count, seq } = this.#backlog
    const lagRecords = Math.max(0, count + (this.#getDurableEnd?.().seq ?? seq) - seq)
    const lagSeconds =
      lagRecords === 0 || this.#oldestUndeliveredMs === undefined
        ? 0
        : (Date.now() - this.#oldestUndeliveredMs) / 1000
    return { lagRecords, lagSeconds: Math.max(0, lagSeconds), lastSuccess: this.#lastSuccess }
  }

  start(durable: () => DurableEnd): void {
    this.#getDurableEnd = durable
    this.#countBacklog(durable())
    this.#running ??= this.#run(durable)
  }

  wake(): void {
    this.#wake?.()
  }

  /** Delivers the rest until a failure or for `graceMs` milliseconds; undelivered records stay in the log. */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort()
    this.#wake?.()
    const timer = setTimeout(() => {
      this.#isStopped = true
      this.#attempt.abort()
    }, graceMs)
    await this.#running
    clearTimeout(timer)
    await this.#save()
    await this.#options.sink.close()
  }

  async #run(durable: () => DurableEnd): Promise<void> {
    const { maxWaitMs, minBackoffMs, maxBackoffMs } = this.#options.tuning
    const backoff = new Backoff({ minMs: minBackoffMs, maxMs: maxBackoffMs })
    while (!this.#isStopped) {
      // Checked before the read, so that records written before the close are still delivered.
      const isLast = this.#closing.signal.aborted
      try {
        if (await this.#deliverNext(durable)) backoff.reset()
        else if (isLast) return
        else if (await this.#waitForRecords(durable)) await this.#pause(maxWaitMs)
      } catch (error) {
        if (this.#isStopped) return
        this.#options.observer.failed(this.name, error)
        if (this.#closing.signal.aborted) return
        // A batch that is too large or too slow for the receiver may succeed in smaller batches.
        this.#batchRecords = Math.max(1, Math.floor(this.#batchRecords / 2))
        await this.#pause(backoff.next())
      }
    }
  }

  /** Delivers one batch. Returns false if there is nothing to deliver. */
  async #deliverNext(durable: () => DurableEnd): Promise<boolean> {
    const { folder, observer, tuning } = this.#options
    const end = durable()
    if (this.#segments.at(-1)?.file !== end.file) {
      this.#segments = await listSegments(folder)
      this.#countBacklog(end)
    }
    this.#lastReadEnd = end
    const bounds = { records: this.#batchRecords, bytes: tuning.maxBatchBytes }
    const { deliveries, cursor } = await readBatch(folder, this.#segments, this.#cursor, end, bounds)
    const [first] = deliveries
    if (first === undefined) {
      this.#cursor = cursor
      // Corrects the count for records that were removed in the meantime.
      this.#backlog = { count: 0, seq: end.seq }
      await this.#save()
      return false
    }
    this.#oldestUndeliveredMs = Date.parse(first.record.time)
    try {
      await this.#deliver(deliveries)
    } catch (error) {
      if (!(error instanceof ContentRefused) || this.#batchRecords === 1) throw error
      // Splits the batch at once, to find the refused record.
      observer.failed(this.name, error)
      this.#batchRecords = Math.max(1, Math.floor(deliveries.length / 2))
      return true
    }
    this.#refusals = undefined
    this.#oldestUndeliveredMs = undefined
    this.#cursor = cursor
    this.#backlog.count -= deliveries.length
    this.#lastSuccess = Date.now()
    this.#batchRecords = Math.min(this.#batchRecords * 2, tuning.maxBatchRecords)
    if (performance.now() - this.#saved.at >= cursorSaveIntervalMs) await this.#save()
    return true
  }

  #countBacklog(end: DurableEnd): void {
    this.#backlog = { count: countRecordsAfter(this.#segments, this.#cursor, end), seq: end.seq }
  }

  async #deliver(deliveries: readonly Delivery[]): Promise<void> {
    if (this.#batchRecords === 1) {
      // A record may be preceded by the report of a gap.
      for (const delivery of deliveries) await this.#deliverOrReplace(delivery)
    } else {
      await this.#attemptDelivery(deliveries)
      this.#options.observer.delivered(this.name, deliveries.length)
    }
  }

  /** Delivers a record, or after some tries the report that it was refused. Rejects if both should be tried again. */
  async #deliverOrReplace(delivery: Delivery): Promise<void> {
    const { observer } = this.#options
    try {
      await this.#attemptDelivery([delivery])
      observer.delivered(this.name, 1)
    } catch (error) {
      if (!(error instanceof ContentRefused)) throw error
      const { id } = delivery
      this.#refusals = { id, count: this.#refusals?.id === id ? this.#refusals.count + 1 : 1 }
      const report = this.#refusals.count < maxRefusals ? undefined : reportRefused(delivery)
      if (report === undefined) throw error
      await this.#attemptDelivery([report])
      observer.rejected(this.name, 1, `${id}: ${error.message}`)
    }
  }

  async #attemptDelivery(deliveries: readonly Delivery[]): Promise<void> {
    const { sink, tuning } = this.#options
    const attempt = new AbortController()
    this.#attempt = attempt
    const timer = setTimeout(() => attempt.abort(), tuning.timeoutMs)
    try {
      await sink.deliver(deliveries, attempt.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  async #waitForRecords(durable: () => DurableEnd): Promise<boolean> {
    const isNew = (): boolean => {
      const { file, length } = durable()
      return file !== this.#lastReadEnd?.file || length > this.#lastReadEnd.length
    }
    if (isNew()) return true
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#closing.signal.aborted) this.#wake()
    })
    this.#wake = undefined
    return isNew()
  }

  /** Ends early when the delivery is closed. */
  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined)
  }

  async #save(): Promise<void> {
    if (this.#cursor === undefined || this.#cursor === this.#saved.cursor) return
    const cursor = this.#cursor
    try {
      await writeCursor(this.#path, cursor)
      this.#saved = { cursor, at: performance.now() }
    } catch (error) {
      this.#options.observer.cursorNotSaved(this.name, error)
    }
  }
}
