import { setImmediate as endOfTurn } from 'node:timers/promises'
import { looseRecord, type LooseRecord } from './records.ts'
import { AuditUnavailable, type UnavailableReason } from './unavailable.ts'

/** Hears what the log does, to count it. Must not throw. */
export interface AuditObserver {
  /** A group of records is durable; the seconds are those of its write and fdatasync. */
  flushed(records: number, seconds: number): void
  /** A group could not be written; `AuditLog.status` says why. */
  failed(): void
  /** A refusal or a reload is lost. */
  dropped(): void
}

/** How much may wait. */
export interface QueueBounds {
  readonly records: number
  /** Of the text of the records. */
  readonly bytes: number
}

/** A record that waits for the disk. One of the two is called, once; neither may throw. */
export interface Waiting {
  readonly record: LooseRecord
  /** The record is durable. */
  durable(seq: number): void
  /** The record is not in the log. */
  failed(error: AuditUnavailable): void
  /** Whether its caller hears of a failure; counted as refused then, else as dropped. */
  readonly answered: boolean
}

/** Appends a group, all or nothing; resolves with the seq of its first record. */
type Append = (records: readonly LooseRecord[]) => Promise<number>

const retryMs = 1_000

/**
 * The queue before the disk. All records that come while a group is on its way to the disk are the next group,
 * and share one write and one fdatasync. When a group fails, all its records fail; the next records try again,
 * and so does a timer, and what is missing is counted in a `gap` record as soon as one can be written.
 */
export class GroupCommit {
  readonly #append: Append
  readonly #bounds: QueueBounds
  readonly #observe: AuditObserver | undefined
  #queue: Waiting[] = []
  #bytes = 0
  #running: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #closed = false
  #failure: Error | undefined
  #gap = { dropped: 0, refused: 0 }

  constructor(append: Append, bounds: QueueBounds, observe: AuditObserver | undefined) {
    this.#append = append
    this.#bounds = bounds
    this.#observe = observe
  }

  /** The records that wait. */
  get queued(): number {
    return this.#queue.length
  }

  /** Why the last group could not be written. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Takes the record, unless that share of the queue is in use. */
  enqueue(waiting: Waiting, share: number): void {
    const reason = this.unavailable(share)
    if (reason !== undefined) return this.#refuse(waiting, new AuditUnavailable(reason))
    this.#queue.push(waiting)
    this.#bytes += waiting.record.text.length
    this.#start()
  }

  /** Why a record that may use that share of the queue would not be taken now. */
  unavailable(share: number): UnavailableReason | undefined {
    if (this.#closed) return 'closed'
    const { records, bytes } = this.#bounds
    return this.#queue.length >= records * share || this.#bytes >= bytes * share ? 'full' : undefined
  }

  /** Writes what waits, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
    // Once more: what was missing so far, if it can be said now.
    this.#start()
    await this.#running
    clearTimeout(this.#retry)
  }

  #start(): void {
    this.#running ??= this.#drain()
  }

  async #drain(): Promise<void> {
    // All that arrives in this turn of the event loop goes into the first group.
    await endOfTurn()
    do await this.#flush()
    while (this.#queue.length > 0)
    this.#running = undefined
  }

  async #flush(): Promise<void> {
    const group = this.#queue
    const gap = this.#gap
    const records = group.map(({ record }) => record)
    if (gap.dropped + gap.refused > 0) records.unshift(looseRecord('gap', gap))
    if (records.length === 0) return
    this.#queue = []
    this.#bytes = 0
    this.#gap = { dropped: 0, refused: 0 }
    const begun = performance.now()
    try {
      let seq = (await this.#append(records)) + records.length - group.length
      this.#failure = undefined
      this.#observe?.flushed(records.length, (performance.now() - begun) / 1_000)
      for (const waiting of group) waiting.durable(seq++)
    } catch (error) {
      this.#gap.dropped += gap.dropped
      this.#gap.refused += gap.refused
      this.#fail(group, error as Error)
    }
  }

  #fail(group: readonly Waiting[], error: Error): void {
    this.#failure = error
    for (const waiting of group) this.#refuse(waiting, new AuditUnavailable('disk', error))
    this.#observe?.failed()
    clearTimeout(this.#retry)
    // Nobody sends changes to a gateway that is not ready, so it finds out by itself that the disk is good again.
    this.#retry = setTimeout(() => this.#start(), retryMs).unref()
  }

  #refuse(waiting: Waiting, error: AuditUnavailable): void {
    this.#gap[waiting.answered ? 'refused' : 'dropped'] += 1
    waiting.failed(error)
  }
}
