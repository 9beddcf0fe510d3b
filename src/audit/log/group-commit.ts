import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { toError } from '../../lib/index.ts'
import type { FileTampering, RecordBodies } from '../records/audit-record.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import { type CatalogError, refusal, type RefusalReason } from '../../catalog-api/index.ts'

const unavailable = 'the change was not made: the audit log is unavailable; retry later'

/** Receives events of the log, for metrics and the operator. Must not throw. */
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

export const queueBounds = {
  /** Maximum number of queued records, and maximum size of their text. */
  queueRecords: 10_000,
  queueBytes: 16 * 1024 * 1024,
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

type Priority = keyof typeof priorities

interface PendingRecord {
  readonly record: UnchainedRecord
  readonly priority: Priority
  readonly onDurable: (seq: number) => void
  readonly onFailure: (error: CatalogError) => void
}

type Gap = RecordBodies['gap']

const retryMs = 1_000

/** Asynchronous records join the next synchronous write, or are flushed then: an extra write is expensive. */
const asyncFlushMs = 20

/**
 * Creates the write queue of the log. Records that arrive during a write form the next group. If a group fails, all its
 * records fail; the next record and a timer retry, and a `gap` record counts the missing ones. `append` writes a group, all
 * or nothing and with a seal at its end if `isSealed`, and resolves with the seqs of its records.
 */
export function createGroupCommit(
  append: (records: readonly UnchainedRecord[], isSealed: boolean) => Promise<readonly number[]>,
  { queueRecords, queueBytes }: typeof queueBounds,
  observer: Partial<AuditObserver>,
) {
  let queue: PendingRecord[] = []
  let bytes = 0
  let isDue = false
  let isSealDue = false
  let flushing: Promise<void> | undefined
  let asyncFlushTimer: NodeJS.Timeout | undefined
  let retryTimer: NodeJS.Timeout | undefined
  let accepts: 'all' | 'essential' | 'nothing' = 'all'
  let failure: Error | undefined
  let gap: Gap | undefined
  let dropped = 0

  function getUnavailableReason(priority: Priority): RefusalReason | undefined {
    const { maxFillRatio } = priorities[priority]
    const isEssential = maxFillRatio === Infinity
    if (accepts === 'nothing' || (accepts === 'essential' && !isEssential)) return 'audit_closed'
    return queue.length >= queueRecords * maxFillRatio || bytes >= queueBytes * maxFillRatio
      ? 'audit_queue_full'
      : undefined
  }

  function startFlush(): void {
    isDue = true
    flushing ??= flushAll()
  }

  function scheduleAsyncFlush(): void {
    if (flushing === undefined) asyncFlushTimer ??= setTimeout(startFlush, asyncFlushMs)
  }

  async function flushAll(): Promise<void> {
    clearTimeout(asyncFlushTimer)
    asyncFlushTimer = undefined
    while (isDue) {
      // Records of the same event loop iteration join one group, which amortizes the cost per group.
      await yieldToEventLoop()
      await flush()
    }
    flushing = undefined
    if (queue.length > 0) scheduleAsyncFlush()
  }

  async function flush(): Promise<void> {
    const [group, counted, isSealed] = [queue, gap, isSealDue]
    const records = group.map(({ record }) => record)
    // Times must not run backwards, though the disk may have delayed the group.
    if (counted) records.unshift(createRecord('gap', counted, [], records[0]?.time))
    queue = []
    bytes = 0
    gap = undefined
    isDue = false
    isSealDue = false
    if (records.length === 0 && !isSealed) return
    const started = performance.now()
    try {
      const seqs = (await append(records, isSealed)).slice(records.length - group.length)
      failure = undefined
      observer.flushed?.(records.length, (performance.now() - started) / 1_000)
      for (const [index, pending] of group.entries()) pending.onDurable(seqs[index] ?? -1)
    } catch (error) {
      failure = toError(error)
      if (counted) gap = mergeGaps(counted, gap)
      for (const pending of group)
        refuse(pending, refusal('audit_write_failed', unavailable, { cause: failure }))
      observer.failed?.()
      retryLater()
    }
  }

  /** A gateway that is not ready receives no changes, so a timer must detect that the disk has recovered. */
  function retryLater(): void {
    clearTimeout(retryTimer)
    retryTimer = setTimeout(() => {
      if (accepts !== 'all') return
      if (gap) startFlush()
      else failure = undefined
    }, retryMs).unref()
  }

  function refuse({ record: { time }, priority, onFailure }: PendingRecord, error: CatalogError): void {
    const { loss } = priorities[priority]
    if (loss !== 'none') gap = mergeGaps({ dropped: 0, refused: 0, since: time, until: time, [loss]: 1 }, gap)
    if (loss === 'dropped') {
      dropped += 1
      observer.dropped?.()
    }
    onFailure(error)
  }

  return {
    status: () => ({
      queued: queue.length,
      dropped,
      /** Whether the next request would be accepted, as far as is known. */
      isWritable: failure === undefined && getUnavailableReason('request') === undefined,
    }),
    /**
     * Queues a record unless the queue is too full for its priority. Resolves with its number when it is durable; otherwise
     * rejects with ServiceUnavailable (503). An asynchronous record, for which no caller waits, shares a later write.
     */
    enqueue(record: UnchainedRecord, priority: Priority, isAsync = priority === 'optional'): Promise<number> {
      return new Promise((onDurable, onFailure) => {
        const pending = { record, priority, onDurable, onFailure }
        const reason = getUnavailableReason(priority)
        if (reason !== undefined) return refuse(pending, refusal(reason, unavailable))
        queue.push(pending)
        bytes += record.members.length
        if (isAsync) scheduleAsyncFlush()
        else startFlush()
      })
    },
    /** Writes the next group now, and seals the log up to its end. */
    seal(): void {
      isSealDue = true
      startFlush()
    },
    /**
     * Accepts only essential records from now on, and writes the queue including the outcomes that follow; then nothing any
     * more, and seals the log.
     */
    async close(): Promise<void> {
      accepts = 'essential'
      do {
        startFlush()
        await flushing
      } while (queue.length > 0)
      accepts = 'nothing'
      // Also the second attempt to record a gap.
      isSealDue = true
      startFlush()
      await flushing
      clearTimeout(retryTimer)
    },
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
