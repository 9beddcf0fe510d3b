import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SinkSettings } from '../../config/index.ts'
import { Backoff, ignoreMissing, withTimeout, writeAll, writeAtomically } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import { listSegments, type LogSegment, compareByAge } from '../storage/log-segments.ts'
import {
  countRecordsAfter,
  followLog,
  readCursor,
  reportRefused,
  type Cursor,
  type FollowedDelivery,
} from './log-follower.ts'
import { createOtlpSink, type OtlpResource } from './otlp-sink.ts'
import { ContentRefused, deliveryTimeoutMs, type Delivery, type DurableEnd, type Sink } from './sink.ts'

/** Receives delivery events for metrics. Must not throw. */
export interface SinkObserver {
  delivered(sink: string, records: number): void
  /** A batch was not accepted, the log could not be read, or the position could not be saved; it is retried. */
  failed(sink: string, error: unknown): void
  /** The receiver rejected these records permanently. */
  rejected(sink: string, records: number, message: string): void
}

const defaultTuning = {
  /** How long a record may wait for a batch to fill. */
  maxWaitMs: 200,
  /** A batch that takes longer is delivered again. */
  timeoutMs: deliveryTimeoutMs,
  minBackoffMs: 500,
  maxBackoffMs: 60_000,
}

export type DeliveryTuning = typeof defaultTuning

export interface SinksOptions {
  readonly folder: string
  readonly settings: readonly SinkSettings[]
  readonly tuning?: Partial<DeliveryTuning>
  readonly resource: OtlpResource
  readonly observer: SinkObserver
  readonly outbound: Outbound
}

export type Sinks = Awaited<ReturnType<typeof openSinks>>

/** Opens the sinks and reads their cursors. Rejects if a file of the settings cannot be read. */
export async function openSinks(options: SinksOptions) {
  const { folder, settings, observer, resource, outbound } = options
  const tuning = { ...defaultTuning, ...options.tuning }
  const segments = (await listSegments(folder).catch(ignoreMissing)) ?? []
  const deliveries = await Promise.all(
    settings.map(async (each) => {
      const { name } = each
      const cursorFile = join(folder, `sink-${name}.json`)
      const cursor = await readCursor(cursorFile)
      const sink =
        each.type === 'stdout'
          ? createStdoutSink()
          : await createOtlpSink(each, resource, observer.rejected.bind(observer, name), outbound)
      return createDelivery({ name, folder, tuning, sink, observer, cursorFile }, cursor, segments)
    }),
  )
  return {
    start: (durable: () => DurableEnd) => deliveries.forEach((delivery) => delivery.start(durable)),
    /** Undefined if no sink needs a segment; otherwise retention keeps it and all newer ones. */
    oldestNeededSegment: () =>
      deliveries.flatMap((delivery) => delivery.findNeededSegment() ?? []).toSorted(compareByAge)[0],
    status: () => deliveries.map(({ name, status }) => ({ sink: name, status: status() })),
    /** Tries to deliver the remaining records for a short time, then closes the sinks. */
    close: async () => void (await Promise.all(deliveries.map((delivery) => delivery.close()))),
  }
}

const stdout = 1

/** A line is delivered when it is written to the pipe. */
function createStdoutSink(): Sink {
  let isWriting = false
  let isClosed = false
  return {
    async deliver(batch) {
      // A write that is blocked by a full pipe cannot be cancelled, and another one would split its line.
      if (isWriting) throw new Error('standard output is blocked')
      isWriting = true
      const lines = batch.map(({ text }) => `${text}\n`).join('')
      await writeAll(stdout, Buffer.from(lines), () => isClosed).finally(() => (isWriting = false))
    },
    async close() {
      isClosed = true
    },
  }
}

interface DeliveryOptions extends Pick<SinksOptions, 'folder' | 'observer'> {
  readonly name: string
  readonly tuning: DeliveryTuning
  readonly sink: Sink
  readonly cursorFile: string
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
function createDelivery(
  { name, folder, tuning, sink, observer, cursorFile }: DeliveryOptions,
  start: Cursor | undefined,
  found: readonly LogSegment[],
) {
  const closing = new AbortController()
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let segments = found
  let getDurable: (() => DurableEnd) | undefined
  let cursor = start
  let saved = start
  let saveAt = 0
  let batchRecords = maxBatchRecords
  let oldestUndeliveredMs: number | undefined
  let lastSuccess: number | undefined

  function status() {
    const end = getDurable?.()
    const lagRecords = end === undefined ? 0 : countRecordsAfter(segments, cursor, end)
    const oldest = lagRecords === 0 ? undefined : oldestUndeliveredMs
    return {
      lagRecords,
      /** Age of the oldest of them; 0 if there are none. */
      lagSeconds: oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000),
      /** Milliseconds since 1970; undefined until the first successful delivery. */
      lastSuccess,
    }
  }

  async function run(durable: () => DurableEnd): Promise<void> {
    const { maxWaitMs, minBackoffMs, maxBackoffMs } = tuning
    const backoff = new Backoff({ minMs: minBackoffMs, maxMs: maxBackoffMs })
    while (!stopping.signal.aborted) {
      // Checked before the read, so that records written before the close are still delivered.
      const isLast = closing.signal.aborted
      try {
        if (await deliverNext(durable())) backoff.reset()
        else if (isLast) return
        else await rest(maxWaitMs)
      } catch (error) {
        if (stopping.signal.aborted) return
        observer.failed(name, error)
        if (closing.signal.aborted) return
        // A batch that is too slow for the receiver may succeed in smaller batches.
        batchRecords = Math.ceil(batchRecords / 2)
        await rest(backoff.next())
      }
    }
  }

  /** Delivers one batch, or finds out that it has to be smaller. Returns false if there is nothing to deliver. */
  async function deliverNext(end: DurableEnd): Promise<boolean> {
    const isAtEnd = cursor?.file === end.file && cursor.offset === end.length
    const batch = isAtEnd ? [] : await readBatch(end)
    const [first] = batch
    if (first === undefined) {
      await save()
      return false
    }
    oldestUndeliveredMs = Date.parse(first.record.time)
    try {
      await deliver(batch)
      observer.delivered(name, batch.length)
      batchRecords = Math.min(batchRecords * 2, maxBatchRecords)
    } catch (error) {
      if (!(error instanceof ContentRefused)) throw error
      if (batch.length > 1) {
        observer.failed(name, error)
        batchRecords = Math.floor(batch.length / 2)
        return true
      }
      const report = reportRefused(first)
      if (report === undefined) throw error
      await deliver([report])
      observer.rejected(name, 1, `${first.id}: ${error.message}`)
    }
    cursor = batch.at(-1)?.cursor
    lastSuccess = Date.now()
    oldestUndeliveredMs = undefined
    await save()
    return true
  }

  async function readBatch(end: DurableEnd): Promise<readonly FollowedDelivery[]> {
    if (segments.at(-1)?.file !== end.file) segments = await listSegments(folder)
    const batch: FollowedDelivery[] = []
    let bytes = 0
    for await (const delivery of followLog(folder, segments, cursor, end)) {
      batch.push(delivery)
      bytes += delivery.text.length
      if (batch.length >= batchRecords || bytes >= maxBatchBytes) break
    }
    return batch
  }

  async function deliver(deliveries: readonly Delivery[]): Promise<void> {
    const attempt = new AbortController()
    try {
      await withTimeout(sink.deliver(deliveries, attempt.signal), tuning.timeoutMs, stopping.signal)
    } finally {
      attempt.abort()
    }
  }

  /** Ends early when the delivery is closed. */
  async function rest(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: closing.signal }).catch(() => undefined)
  }

  async function save(): Promise<void> {
    if (cursor === undefined || cursor === saved || performance.now() < saveAt) return
    const next = cursor
    saveAt = performance.now() + cursorSaveIntervalMs
    try {
      await writeAtomically(cursorFile, JSON.stringify(next))
      saved = next
    } catch (error) {
      observer.failed(name, error)
    }
  }

  return {
    name,
    status,
    start(durable: () => DurableEnd): void {
      getDurable = durable
      running ??= run(durable)
    },
    /** Undefined if retention keeps no segment for this sink, or if it is too far behind. */
    findNeededSegment(): string | undefined {
      if (status().lagSeconds > maxLagSeconds) return undefined
      // A previously empty folder contains exactly the active segment after the start.
      return cursor?.file ?? segments[0]?.file ?? getDurable?.().file
    },
    /** Delivers the rest until a failure or for a while; undelivered records stay in the log. */
    async close(): Promise<void> {
      closing.abort()
      const timer = setTimeout(() => stopping.abort(), graceMs)
      await running
      clearTimeout(timer)
      saveAt = 0
      await save()
      await sink.close()
    },
  }
}
