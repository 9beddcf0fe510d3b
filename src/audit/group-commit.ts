import { isDiskFull, type DiskReserve } from './disk-reserve.ts'
import { looseRecord, type LooseRecord } from './loose-records.ts'
import { AuditUnavailable, type UnavailableReason } from './unavailable.ts'

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
  /** As what it is counted when it fails: as refused where its caller hears of it. */
  readonly loss: 'refused' | 'dropped' | 'none'
  /** Whether it is written into the reserve of the disk when the rest is full. */
  readonly essential: boolean
  /** Whether nobody waits for it, so that it waits for others to share their write with; see `lingerMs`. */
  readonly lingers: boolean
}

/** Appends a group, all or nothing; resolves with the seqs of its records. */
type Append = (records: readonly LooseRecord[]) => Promise<readonly number[]>

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
const lingerMs = 20
const lingerRecords = 1_000
const lingerBytes = 256 * 1024

/**
 * The queue before the disk. All records that come while a group is on its way to the disk are the next group,
 * and share one write and one wait. When a group fails, all its records fail; the next records try again,
 * and so does a timer, and what is missing is counted in a `gap` record as soon as one can be written. When the disk
 * is full, its reserve is given up, and until it is taken again only what is essential is written.
 */
export class GroupCommit {
  readonly #append: Append
  readonly #bounds: QueueBounds
  readonly #reserve: DiskReserve
  readonly #observe: AuditObserver | undefined
  #queue: Waiting[] = []
  #bytes = 0
  /** Whether the queue is to be written now. */
  #isDue = false
  #running: Promise<void> | undefined
  #lingering: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #takes: 'all' | 'essential' | 'nothing' = 'all'
  #failure: Error | undefined
  #gap: Gap | undefined

  constructor(append: Append, bounds: QueueBounds, reserve: DiskReserve, observe: AuditObserver | undefined) {
    this.#append = append
    this.#bounds = bounds
    this.#reserve = reserve
    this.#observe = observe
    if (!reserve.held) this.#retryLater()
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
    const reason = this.unavailable(share, waiting.essential)
    if (reason !== undefined) return this.#refuse(waiting, new AuditUnavailable(reason))
    this.#queue.push(waiting)
    this.#bytes += waiting.record.members.length
    if (!waiting.lingers || this.#queue.length >= lingerRecords || this.#bytes >= lingerBytes) this.#start()
    else this.#linger()
  }

  /** Why a record that may use that share of the queue would not be taken now. */
  unavailable(share: number, essential = false): UnavailableReason | undefined {
    if (this.#takes === 'nothing' || (this.#takes === 'essential' && !essential)) return 'audit_closed'
    if (!essential && !this.#reserve.held) return 'audit_disk_full'
    const { records, bytes } = this.#bounds
    return this.#queue.length >= records * share || this.#bytes >= bytes * share
      ? 'audit_queue_full'
      : undefined
  }

  /** Takes nothing more but what is essential, and writes what waits, with the outcomes that come of it. */
  async settle(): Promise<void> {
    this.#takes = 'essential'
    do {
      this.#start()
      await this.#running
    } while (this.#queue.length > 0)
  }

  /** Writes what waits, and takes nothing more. */
  async close(): Promise<void> {
    this.#takes = 'nothing'
    await this.#running
    // Once more: what was missing so far, if it can be said now.
    this.#start()
    await this.#running
    clearTimeout(this.#retry)
  }

  #start(): void {
    this.#isDue = true
    this.#running ??= this.#drain()
  }

  #linger(): void {
    if (this.#running === undefined) this.#lingering ??= setTimeout(() => this.#start(), lingerMs)
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#lingering)
    this.#lingering = undefined
    while (this.#isDue) {
      // All that arrives in this turn of the event loop goes into one group: what is done for a group is done seldom.
      await endOfTurn()
      await this.#flush()
    }
    this.#running = undefined
    if (this.#queue.length > 0) this.#linger()
  }

  async #flush(): Promise<void> {
    const group = this.#queue
    this.#queue = []
    this.#bytes = 0
    this.#isDue = false
    try {
      await this.#write(group)
    } catch (error) {
      if (!(await this.#relieve(error))) return this.#fail(group, error as Error)
      this.#fail(
        group.filter(({ essential }) => !essential),
        error as Error,
      )
      const essential = group.filter((waiting) => waiting.essential)
      await this.#write(essential).catch((again: Error) => this.#fail(essential, again))
    }
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    const gap = this.#gap
    const records = group.map(({ record }) => record)
    if (gap) records.unshift(looseRecord('gap', gap))
    if (records.length === 0) return
    this.#gap = undefined
    const begun = performance.now()
    try {
      const seqs = (await this.#append(records)).slice(records.length - group.length)
      // What is essential is written where the rest is not.
      if (this.#reserve.held) this.#failure = undefined
      this.#observe?.flushed(records.length, (performance.now() - begun) / 1_000)
      for (const [index, waiting] of group.entries()) waiting.durable(seqs[index] ?? -1)
    } catch (error) {
      if (gap) this.#gap = merged(gap, this.#gap)
      throw error
    }
  }

  /** Makes room on a full disk for what is essential; answers whether there is any. */
  async #relieve(error: unknown): Promise<boolean> {
    if (!isDiskFull(error)) return false
    try {
      return await this.#reserve.giveUp()
    } catch {
      return false
    }
  }

  #fail(group: readonly Waiting[], error: Error): void {
    this.#failure = error
    for (const waiting of group) this.#refuse(waiting, new AuditUnavailable('audit_write_failed', error))
    this.#observe?.failed()
    this.#retryLater()
  }

  /** Nobody sends changes to a gateway that is not ready, so it finds out by itself that the disk is good again. */
  #retryLater(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#tryAgain(), retryMs).unref()
  }

  async #tryAgain(): Promise<void> {
    const isHeld = await this.#reserve.take().catch((error: Error) => {
      this.#failure = error
      return false
    })
    if (this.#takes !== 'all') return
    if (!isHeld) return this.#retryLater()
    if (this.#gap) this.#start()
    else this.#failure = undefined
  }

  #refuse(waiting: Waiting, error: AuditUnavailable): void {
    if (waiting.loss !== 'none') {
      const { time } = waiting.record
      const lost = { dropped: 0, refused: 0, since: time, until: time, [waiting.loss]: 1 }
      this.#gap = merged(lost, this.#gap)
    }
    waiting.failed(error)
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function merged(gap: Gap, other: Gap | undefined): Gap {
  if (other === undefined) return gap
  return {
    dropped: gap.dropped + other.dropped,
    refused: gap.refused + other.refused,
    since: gap.since < other.since ? gap.since : other.since,
    until: gap.until > other.until ? gap.until : other.until,
  }
}
