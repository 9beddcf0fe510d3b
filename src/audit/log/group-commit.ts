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

interface QueueLimits {
  readonly records: number
  readonly bytes: number
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
  readonly onFailure: (error: AuditUnavailable) => void
}

type Gap = RecordBodies['gap']

const retryMs = 1_000

/** Asynchronous records join the next synchronous write, or are flushed then: an extra write is expensive. */
const asyncFlushMs = 20

/**
 * Creates the write queue of the log. Records that arrive during a write form the next group. If a group fails, all its
 * records fail; the next record and a timer retry, and a `gap` record counts the missing ones. `append` writes a group, all
 * or nothing, and resolves with the seqs of its records.
 */
export function createGroupCommit(
  append: (records: readonly UnchainedRecord[]) => Promise<readonly number[]>,
  limits: QueueLimits,
  observer: Partial<AuditObserver>,
) {
  let queue: PendingRecord[] = []
  let bytes = 0
  let isDue = false
  let flushing: Promise<void> | undefined
  let asyncFlushTimer: NodeJS.Timeout | undefined
  let retryTimer: NodeJS.Timeout | undefined
  let accepts: 'all' | 'essential' | 'nothing' = 'all'
  let failure: Error | undefined
  let gap: Gap | undefined
  let dropped = 0

  function getUnavailableReason(priority: Priority): UnavailableReason | undefined {
    const { maxFillRatio } = priorities[priority]
    const isEssential = maxFillRatio === Infinity
    if (accepts === 'nothing' || (accepts === 'essential' && !isEssential)) return 'audit_closed'
    return queue.length >= limits.records * maxFillRatio || bytes >= limits.bytes * maxFillRatio
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
    const group = queue
    queue = []
    bytes = 0
    isDue = false
    try {
      await write(group)
    } catch (error) {
      failure = toError(error)
      for (const pending of group) refuse(pending, new AuditUnavailable('audit_write_failed', failure))
      observer.failed?.()
      retryLater()
    }
  }

  async function write(group: readonly PendingRecord[]): Promise<void> {
    const counted = gap
    const records = group.map(({ record }) => record)
    // Times must not run backwards, though the disk may have delayed the group.
    if (counted) records.unshift(createRecord('gap', counted, [], records[0]?.time))
    if (records.length === 0) return
    gap = undefined
    const started = performance.now()
    try {
      const seqs = (await append(records)).slice(records.length - group.length)
      failure = undefined
      observer.flushed?.(records.length, (performance.now() - started) / 1_000)
      for (const [index, pending] of group.entries()) pending.onDurable(seqs[index] ?? -1)
    } catch (error) {
      if (counted) gap = mergeGaps(counted, gap)
      throw error
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

  function refuse({ record: { time }, priority, onFailure }: PendingRecord, error: AuditUnavailable): void {
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
     * rejects with `AuditUnavailable`. An asynchronous record, for which no caller waits, shares a later write.
     */
    enqueue(record: UnchainedRecord, priority: Priority, isAsync = priority === 'optional'): Promise<number> {
      return new Promise((onDurable, onFailure) => {
        const pending = { record, priority, onDurable, onFailure }
        const reason = getUnavailableReason(priority)
        if (reason !== undefined) return refuse(pending, new AuditUnavailable(reason))
        queue.push(pending)
        bytes += record.members.length
        if (isAsync) scheduleAsyncFlush()
        else startFlush()
      })
    },
    /** Accepts only essential records from now on, and writes the queue including the outcomes that follow. */
    async drain(): Promise<void> {
      accepts = 'essential'
      do {
        startFlush()
        await flushing
      } while (queue.length > 0)
    },
    async close(): Promise<void> {
      accepts = 'nothing'
      await flushing
      // Retry once to record the gap.
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
