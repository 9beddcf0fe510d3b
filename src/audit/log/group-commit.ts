import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { toError } from '../../lib/index.ts'
import type { FileTampering, RecordBodies } from '../records/audit-record.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import { CatalogError, getRefusalOptions } from '../../catalog-api/index.ts'

/** Reason for rejecting a record. */
type UnavailableReason = 'audit_queue_full' | 'audit_write_failed' | 'audit_closed'

/** The audit log cannot accept a record, so the change must not happen (503). */
export class AuditUnavailable extends CatalogError {
  constructor(reason: UnavailableReason, cause?: unknown) {
    super('ServiceUnavailable', 'the change was not made: the audit log is unavailable; retry later', {
      ...getRefusalOptions(reason),
      cause,
    })
  }
}

/** Receives what happens to the log, for metrics and the operator. Must not throw. */
export interface AuditObserver {
  /** A group is durable; `seconds` is the duration of its write. */
  flushed(records: number, seconds: number): void
  /** A group could not be written. */
  failed(): void
  dropped(): void
  /** `lines`: how many another writer added before the start. */
  tampered(file: string, change: FileTampering, lines?: number): void
  /** A seal key was generated. Its public half should be copied to a location that this host cannot modify. */
  keyGenerated(publicKeyFile: string): void
  pruned(files: readonly string[]): void
  pruningFailed(error: unknown): void
  recovered(repair: RecordBodies['recovered']): void
}

export interface QueueLimits {
  readonly records: number
  readonly bytes: number
}

/** A queued record. Exactly one of the callbacks is called, once; neither may throw. */
export interface PendingRecord {
  readonly record: UnchainedRecord
  onDurable(seq: number): void
  onFailure(error: AuditUnavailable): void
  readonly priority: Priority
  /** Whether no caller waits for it, so that it can share a later write; see `asyncFlushMs`. */
  readonly isAsync: boolean
}

/**
 * `loss`: how a failure is counted, `refused` if the caller is notified. `maxFillRatio`: how full the queue may be;
 * a record that is accepted always is also accepted while the queue drains.
 */
const priorities = {
  /** Of the log itself. */
  internal: { loss: 'none', maxFillRatio: Infinity },
  outcome: { loss: 'refused', maxFillRatio: Infinity },
  request: { loss: 'refused', maxFillRatio: 1 },
  resolution: { loss: 'none', maxFillRatio: 0.5 },
  optional: { loss: 'dropped', maxFillRatio: 0.5 },
} as const

export type Priority = keyof typeof priorities

/** Appends a group, all or nothing. Resolves with the seqs of its records. */
type Append = (records: readonly UnchainedRecord[]) => Promise<readonly number[]>

interface Gap {
  readonly dropped: number
  readonly refused: number
  readonly since: string
  readonly until: string
}

const retryMs = 1_000

/** Asynchronous records join the next synchronous write, or are flushed then: an extra write is expensive. */
const asyncFlushMs = 20

/**
 * The write queue of the log. Records that arrive during a write form the next group. If a group fails, all its records
 * fail; the next record and a timer retry, and a `gap` record counts the missing ones.
 */
export class GroupCommit {
  readonly #append: Append
  readonly #limits: QueueLimits
  readonly #observer: Partial<AuditObserver>
  #queue: PendingRecord[] = []
  #bytes = 0
  #isDue = false
  #flushing: Promise<void> | undefined
  #asyncFlushTimer: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #accepts: 'all' | 'essential' | 'nothing' = 'all'
  #failure: Error | undefined
  #gap: Gap | undefined

  constructor(append: Append, limits: QueueLimits, observer: Partial<AuditObserver>) {
    this.#append = append
    this.#limits = limits
    this.#observer = observer
  }

  get queued(): number {
    return this.#queue.length
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  /** Queues the record unless the queue is too full for its priority. */
  enqueue(pending: PendingRecord): void {
    const reason = this.getUnavailableReason(pending.priority)
    if (reason !== undefined) return this.#refuse(pending, new AuditUnavailable(reason))
    this.#queue.push(pending)
    this.#bytes += pending.record.members.length
    if (pending.isAsync) this.#scheduleAsyncFlush()
    else this.#startFlush()
  }

  /** Returns why a record of this priority would be rejected now. */
  getUnavailableReason(priority: Priority): UnavailableReason | undefined {
    const { maxFillRatio } = priorities[priority]
    const isEssential = maxFillRatio === Infinity
    if (this.#accepts === 'nothing' || (this.#accepts === 'essential' && !isEssential)) return 'audit_closed'
    const { records, bytes } = this.#limits
    return this.#queue.length >= records * maxFillRatio || this.#bytes >= bytes * maxFillRatio
      ? 'audit_queue_full'
      : undefined
  }

  /** Accepts only essential records from now on, and writes the queue including the outcomes that follow. */
  async drain(): Promise<void> {
    this.#accepts = 'essential'
    do {
      this.#startFlush()
      await this.#flushing
    } while (this.#queue.length > 0)
  }

  async close(): Promise<void> {
    this.#accepts = 'nothing'
    await this.#flushing
    // Retry once to record the gap.
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
      // Records of the same event loop iteration join one group, which amortizes the cost per group.
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
      this.#failure = toError(error)
      for (const pending of group)
        this.#refuse(pending, new AuditUnavailable('audit_write_failed', this.#failure))
      this.#observer.failed?.()
      this.#retryLater()
    }
  }

  async #write(group: readonly PendingRecord[]): Promise<void> {
    const gap = this.#gap
    const records = group.map(({ record }) => record)
    // Times must not run backwards, though the disk may have delayed the group.
    if (gap) records.unshift(createRecord('gap', gap, [], records[0]?.time))
    if (records.length === 0) return
    this.#gap = undefined
    const started = performance.now()
    try {
      const seqs = (await this.#append(records)).slice(records.length - group.length)
      this.#failure = undefined
      this.#observer.flushed?.(records.length, (performance.now() - started) / 1_000)
      for (const [index, pending] of group.entries()) pending.onDurable(seqs[index] ?? -1)
    } catch (error) {
      if (gap) this.#gap = mergeGaps(gap, this.#gap)
      throw error
    }
  }

  /** A gateway that is not ready receives no changes, so a timer must detect that the disk has recovered. */
  #retryLater(): void {
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => {
      if (this.#accepts !== 'all') return
      if (this.#gap) this.#startFlush()
      else this.#failure = undefined
    }, retryMs).unref()
  }

  #refuse(pending: PendingRecord, error: AuditUnavailable): void {
    const { loss } = priorities[pending.priority]
    if (loss !== 'none') {
      const { time } = pending.record
      const lost = { dropped: 0, refused: 0, since: time, until: time, [loss]: 1 }
      this.#gap = mergeGaps(lost, this.#gap)
    }
    pending.onFailure(error)
  }
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
