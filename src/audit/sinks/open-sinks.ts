import { setTimeout as pause } from 'node:timers/promises'
import type { SinkSettings } from '../../config/index.ts'
import { Backoff, ignoreMissing } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import { listSegments, type LogSegment, compareByAge } from '../storage/log-segments.ts'
import {
  countRecordsAfter,
  followLog,
  getCursorPath,
  readCursor,
  reportRefused,
  writeCursor,
  type Cursor,
  type FollowedDelivery,
} from './log-follower.ts'
import { createOtlpSink, type OtlpResource } from './otlp-sink.ts'
import { ContentRefused, deliveryTimeoutMs, type Delivery, type DurableEnd, type Sink } from './sink.ts'
import { createStdoutSink } from './stdout-sink.ts'

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

interface SinkStatus {
  readonly lagRecords: number
  /** Age of the oldest of them; 0 if there are none. */
  readonly lagSeconds: number
  /** Milliseconds since 1970; undefined until the first successful delivery. */
  readonly lastSuccess: number | undefined
}

export interface DeliveryTuning {
  /** How long a record may wait for a batch to fill. */
  readonly maxWaitMs: number
  /** A batch that takes longer is delivered again. */
  readonly timeoutMs: number
  readonly minBackoffMs: number
  readonly maxBackoffMs: number
}

const defaultTuning: DeliveryTuning = {
  maxWaitMs: 200,
  timeoutMs: deliveryTimeoutMs,
  minBackoffMs: 500,
  maxBackoffMs: 60_000,
}

export interface SinksOptions {
  readonly folder: string
  readonly settings: readonly SinkSettings[]
  readonly tuning?: Partial<DeliveryTuning>
  readonly resource: OtlpResource
  readonly observer: SinkObserver
  readonly outbound: Outbound
}

export interface Sinks {
  start(durable: () => DurableEnd): void
  /** Undefined if no sink needs a segment; otherwise retention keeps it and all newer ones. */
  readonly oldestNeededSegment: () => string | undefined
  status(): readonly { readonly sink: string; readonly status: SinkStatus }[]
  /** Tries to deliver the remaining records for a short time, then closes the sinks. */
  close(): Promise<void>
}

/** Opens the sinks and reads their cursors. Rejects if a file of the settings cannot be read. */
export async function openSinks(options: SinksOptions): Promise<Sinks> {
  const { folder, settings, observer, resource, outbound } = options
  const tuning = { ...defaultTuning, ...options.tuning }
  const segments = (await listSegments(folder).catch(ignoreMissing)) ?? []
  const deliveries = await Promise.all(
    settings.map(async (each) => {
      const { name } = each
      const cursor = await readCursor(getCursorPath(folder, name))
      const sink =
        each.type === 'stdout'
          ? createStdoutSink()
          : await createOtlpSink(each, resource, observer.rejected.bind(observer, name), outbound)
      return new SinkDelivery({ name, folder, tuning, sink, observer }, cursor, segments)
    }),
  )
  return {
    start: (durable) => deliveries.forEach((delivery) => delivery.start(durable)),
    oldestNeededSegment: () =>
      deliveries.flatMap(({ neededSegment }) => neededSegment ?? []).toSorted(compareByAge)[0],
    status: () => deliveries.map((delivery) => ({ sink: delivery.name, status: delivery.status() })),
    close: async () => void (await Promise.all(deliveries.map((delivery) => delivery.close()))),
  }
}

interface SinkDeliveryOptions {
  readonly name: string
  readonly tuning: DeliveryTuning
  readonly folder: string
  readonly sink: Sink
  readonly observer: SinkObserver
}

const maxBatchRecords = 500
const maxBatchBytes = 1024 * 1024
/** Undelivered records are retained for at most this long. */
const maxLagSeconds = 7 * 86_400
/** Minimum interval between cursor writes. */
const cursorSaveIntervalMs = 1_000
/** Maximum delay of a shutdown by sinks; the remaining records are delivered after the next start. */
const graceMs = 5_000

/**
 * Delivers a log to one sink, in order and at least once. The log is the queue; a restart continues from the cursor. A
 * record whose content the receiver refuses is replaced by a report of that, if the receiver accepts the report; otherwise
 * the receiver refuses everything, and is tried until it does not.
 */
class SinkDelivery {
  readonly name: string
  readonly #options: SinkDeliveryOptions
  readonly #closing = new AbortController()
  #segments: readonly LogSegment[]
  #durable: (() => DurableEnd) | undefined
  /** Up to where everything is delivered. */
  #delivered: DurableEnd | undefined
  #cursor: Cursor | undefined
  #saved: { readonly cursor: Cursor | undefined; readonly at: number }
  #batchRecords = maxBatchRecords
  #oldestUndeliveredMs: number | undefined
  #lastSuccess: number | undefined
  #running: Promise<void> | undefined
  #attempt = new AbortController()
  #isStopped = false

  constructor(options: SinkDeliveryOptions, cursor: Cursor | undefined, segments: readonly LogSegment[]) {
    this.name = options.name
    this.#options = options
    this.#segments = segments
    this.#cursor = cursor
    this.#saved = { cursor, at: 0 }
  }

  /** The segment that retention keeps for this sink; undefined if none, or if the sink is too far behind. */
  get neededSegment(): string | undefined {
    if (this.status().lagSeconds > maxLagSeconds) return undefined
    // A previously empty folder contains exactly the active segment after the start.
    return this.#cursor?.file ?? this.#segments[0]?.file ?? this.#durable?.().file
  }

  status(): SinkStatus {
    const end = this.#durable?.()
    const lagRecords = end === undefined ? 0 : countRecordsAfter(this.#segments, this.#cursor, end)
    const oldest = lagRecords === 0 ? undefined : this.#oldestUndeliveredMs
    const lagSeconds = oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
    return { lagRecords, lagSeconds, lastSuccess: this.#lastSuccess }
  }

  start(durable: () => DurableEnd): void {
    this.#durable = durable
    this.#running ??= this.#run(durable)
  }

  /** Delivers the rest until a failure or for a while; undelivered records stay in the log. */
  async close(): Promise<void> {
    this.#closing.abort()
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
        if (await this.#deliverNext(durable())) backoff.reset()
        else if (isLast) return
        else await this.#pause(maxWaitMs)
      } catch (error) {
        if (this.#isStopped) return
        this.#options.observer.failed(this.name, error)
        if (this.#closing.signal.aborted) return
        // A batch that is too slow for the receiver may succeed in smaller batches.
        this.#batchRecords = Math.ceil(this.#batchRecords / 2)
        await this.#pause(backoff.next())
      }
    }
  }

  /** Delivers one batch. Returns false if there is nothing to deliver. */
  async #deliverNext(end: DurableEnd): Promise<boolean> {
    if (this.#delivered?.file === end.file && this.#delivered.length === end.length) return false
    const { folder } = this.#options
    if (this.#segments.at(-1)?.file !== end.file) this.#segments = await listSegments(folder)
    const batch: FollowedDelivery[] = []
    let bytes = 0
    for await (const delivery of followLog(folder, this.#segments, this.#cursor, end)) {
      batch.push(delivery)
      bytes += delivery.text.length
      if (batch.length >= this.#batchRecords || bytes >= maxBatchBytes) break
    }
    const [first] = batch
    if (first === undefined) {
      this.#delivered = end
      await this.#save()
      return false
    }
    this.#oldestUndeliveredMs = Date.parse(first.record.time)
    await this.#deliver(batch)
    this.#oldestUndeliveredMs = undefined
    this.#batchRecords = Math.min(this.#batchRecords * 2, maxBatchRecords)
    if (performance.now() - this.#saved.at >= cursorSaveIntervalMs) await this.#save()
    return true
  }

  /** Delivers a batch, in parts if the receiver refuses it; a record that it refuses alone is replaced by a report. */
  async #deliver(batch: readonly FollowedDelivery[]): Promise<void> {
    const { observer } = this.#options
    const half = Math.floor(batch.length / 2)
    try {
      await this.#attemptDelivery(batch)
      observer.delivered(this.name, batch.length)
    } catch (error) {
      if (!(error instanceof ContentRefused)) throw error
      if (half > 0) {
        observer.failed(this.name, error)
        this.#batchRecords = half
        await this.#deliver(batch.slice(0, half))
        await this.#deliver(batch.slice(half))
        return
      }
      const [refused] = batch
      const report = refused && reportRefused(refused)
      if (report === undefined) throw error
      await this.#attemptDelivery([report])
      observer.rejected(this.name, 1, `${refused?.id}: ${error.message}`)
    }
    this.#cursor = batch.at(-1)?.cursor
    this.#lastSuccess = Date.now()
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

  /** Ends early when the delivery is closed. */
  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined)
  }

  async #save(): Promise<void> {
    const cursor = this.#cursor
    if (cursor === undefined || cursor === this.#saved.cursor) return
    try {
      await writeCursor(getCursorPath(this.#options.folder, this.name), cursor)
      this.#saved = { cursor, at: performance.now() }
    } catch (error) {
      this.#options.observer.cursorNotSaved(this.name, error)
    }
  }
}
