import { isDiskFull, type DiskReserve } from './disk-reserve.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import { AuditUnavailable, type UnavailableReason } from './audit-unavailable.ts'

/** Hears what the log does, to count it. Must not throw. */
export interface AuditObserver {
  /** A group of records is durable; the seconds are those of its way to the disk. */
  flushed(records: number, seconds: number): void
  /** A group could not be written; `AuditLog.status` says why. */
  failed(): void
  /** A record whose caller does not wait for it is lost. */
  dropped(): void
}

/** How much may wait. */
export interface QueueLimits {
  readonly records: number
  /** Of the text of the records. */
  readonly bytes: number
}

/** A record that waits for the disk. One of the two is called, once; neither may throw. */
export interface PendingRecord {
  readonly record: UnchainedRecord
  /** The record is durable. */
  onDurable(seq: number): void
  /** The record is not in the log. */
  onFailure(error: AuditUnavailable): void
  /** As what it is counted when it fails: as refused where its caller hears of it. */
  readonly loss: 'refused' | 'dropped' | 'none'
  /** Whether it is written into the reserve of the disk when the rest is full. */
  readonly isEssential: boolean
  /** Whether nobody waits for it, so that it waits for others to share their write with; see `lingerMs`. */
  readonly isAsync: boolean
}

/** Appends a group, all or nothing; resolves with the seqs of its records. */
type Append = (records: readonly UnchainedRecord[]) => Promise<readonly number[]>

interface Gap {
  readonly dropped: number
  readonly refused: number
  readonly since: string
  readonly until: string
}

const retryMs = 1_000

/**
 * What nobody waits for is written with the next record that somebody waits for, or after so many milliseconds, or when
 * so much of it waits: to write a record by itself costs more than all else that is done for it.
 */
const asyncFlushMs = 20
const asyncFlushRecords = 1_000
const asyncFlushBytes = 256 * 1024

/**
 * The queue before the disk. All records that come while a group is on its way to the disk are the next group,
 * and share one write and one wait. When a group fails, all its records fail; the next records try again,
 * and so does a timer, and what is missing is counted in a `gap` record as soon as one can be written. When the disk
 * is full, its reserve is given up, and until it is taken again only what is essential is written.
 */
export class GroupCommit {
  readonly #append: Append
  readonly #limits: QueueLimits
  readonly #reserve: DiskReserve
  readonly #observer: AuditObserver | undefined
  #queue: PendingRecord[] = []
  #bytes = 0
  /** Whether the queue is to be written now. */
  #isDue = false
  #flushing: Promise<void> | undefined
  #asyncFlushTimer: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #accepts: 'all' | 'essential' | 'nothing' = 'all'
  #failure: Error | undefined
  #gap: Gap | undefined

  constructor(append: Append, bounds: QueueLimits, reserve: DiskReserve, observe: AuditObserver | undefined) {
    this.#append = append
    this.#limits = bounds
    this.#reserve = reserve
    this.#observer = observe
    if (!reserve.isHeld) this.#retryLater()
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
  enqueue(pending: PendingRecord, queueCapacity: number): void {
    const reason = this.getUnavailableReason(queueCapacity, pending.isEssential)
    if (reason !== undefined) return this.#refuse(pending, new AuditUnavailable(reason))
    this.#queue.push(pending)
    this.#bytes += pending.record.members.length
    if (!pending.isAsync || this.#queue.length >= asyncFlushRecords || this.#bytes >= asyncFlushBytes)
      this.#startFlush()
    else this.#scheduleAsyncFlush()
  }

  /** Why a record that may use that share of the queue would not be taken now. */
  getUnavailableReason(capacity: number, essential = false): UnavailableReason | undefined {
    if (this.#accepts === 'nothing' || (this.#accepts === 'essential' && !essential)) return 'audit_closed'
    if (!essential && !this.#reserve.isHeld) return 'audit_disk_full'
    const { records, bytes } = this.#limits
    return this.#queue.length >= records * capacity || this.#bytes >= bytes * capacity
      ? 'audit_queue_full'
      : undefined
  }

  /** Takes nothing more but what is essential, and writes what waits, with the outcomes that come of it. */
  async drain(): Promise<void> {
    this.#accepts = 'essential'
    do {
      this.#startFlush()
      await this.#flushing
    } while (this.#queue.length > 0)
  }

  /** Writes what waits, and takes nothing more. */
  async close(): Promise<void> {
    this.#accepts = 'nothing'
    await this.#flushing
    // Once more: what was missing so far, if it can be said now.
    this.#startFlush()
    await this.#flushing
    clearTimeout(this.#retryTimer)
  }

  #startFlush(): void {
    this.#isDue = true
    this.#flushing ??= this.#flushAll()
  }

  #scheduleAsyncFlush(): void {
    if (this.#flushing === undefined)
      this.#asyncFlushTimer ??= setTimeout(() => this.#startFlush(), asyncFlushMs)
  }

  async #flushAll(): Promise<void> {
    clearTimeout(this.#asyncFlushTimer)
    this.#asyncFlushTimer = undefined
    while (this.#isDue) {
      // All that arrives in this turn of the event loop goes into one group: what is done for a group is done seldom.
      await yieldToEventLoop()
      await this.#flush()
    }
    this.#flushing = undefined
    if (this.#queue.length > 0) this.#scheduleAsyncFlush()
  }

  async #flush(): Promise<void> {
    const group = this.#queue
    this.#queue = []
    this.#bytes = 0
    this.#isDue = false
    try {
      await this.#write(group)
    } catch (error) {
      if (!(await this.#freeReserve(error))) return this.#fail(group, error as Error)
      this.#fail(
        group.filter(({ isEssential }) => !isEssential),
        error as Error,
      )
      const essential = group.filter((waiting) => waiting.isEssential)
      await this.#write(essential).catch((again: Error) => this.#fail(essential, again))
    }
  }

  async #write(group: readonly PendingRecord[]): Promise<void> {
    const gap = this.#gap
    const records = group.map(({ record }) => record)
    if (gap) records.unshift(createRecord('gap', gap))
    if (records.length === 0) return
    this.#gap = undefined
    const started = performance.now()
    try {
      const seqs = (await this.#append(records)).slice(records.length - group.length)
      // What is essential is written where the rest is not.
      if (this.#reserve.isHeld) this.#failure = undefined
      this.#observer?.flushed(records.length, (performance.now() - started) / 1_000)
      for (const [index, waiting] of group.entries()) waiting.onDurable(seqs[index] ?? -1)
    } catch (error) {
      if (gap) this.#gap = mergeGaps(gap, this.#gap)
      throw error
    }
  }

  /** Makes room on a full disk for what is essential; answers whether there is any. */
  async #freeReserve(error: unknown): Promise<boolean> {
    if (!isDiskFull(error)) return false
    try {
      return await this.#reserve.release()
    } catch {
      return false
    }
  }

  #fail(group: readonly PendingRecord[], error: Error): void {
    this.#failure = error
    for (const waiting of group) this.#refuse(waiting, new AuditUnavailable('audit_write_failed', error))
    this.#observer?.failed()
    this.#retryLater()
  }

  /** Nobody sends changes to a gateway that is not ready, so it finds out by itself that the disk is good again. */
  #retryLater(): void {
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => void this.#attemptRetry(), retryMs).unref()
  }

  async #attemptRetry(): Promise<void> {
    const isHeld = await this.#reserve.acquire().catch((error: Error) => {
      this.#failure = error
      return false
    })
    if (this.#accepts !== 'all') return
    if (!isHeld) return this.#retryLater()
    if (this.#gap) this.#startFlush()
    else this.#failure = undefined
  }

  #refuse(waiting: PendingRecord, error: AuditUnavailable): void {
    if (waiting.loss !== 'none') {
      const { time } = waiting.record
      const lost = { dropped: 0, refused: 0, since: time, until: time, [waiting.loss]: 1 }
      this.#gap = mergeGaps(lost, this.#gap)
    }
    waiting.onFailure(error)
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function mergeGaps(gap: Gap, other: Gap | undefined): Gap {
  if (other === undefined) return gap
  return {
    dropped: gap.dropped + other.dropped,
    refused: gap.refused + other.refused,
    since: gap.since < other.since ? gap.since : other.since,
    until: gap.until > other.until ? gap.until : other.until,
  }
}
