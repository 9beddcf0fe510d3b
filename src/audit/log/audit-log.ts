import { dirname, join, resolve } from 'node:path'
import type { OperationName } from '../../catalog-api/operations.ts'
import { createSealRequest } from './record-group.ts'
import { ChainWriter } from './chain-writer.ts'
import { DiskReserve } from './disk-reserve.ts'
import { lockFolder, type FolderLock } from './folder-lock.ts'
import { GroupCommit, type PendingRecord } from './group-commit.ts'
import type { AuditLogOptions } from './audit-log-options.ts'
import { getAuditClass } from '../records/audit-modes.ts'
import { defaultModes, type AuditModes, type OperationMode } from '../../config/audit/audit-modes.ts'
import {
  createRecord,
  createOutcomeRecord,
  createResolvedRecord,
  type UnchainedRecord,
} from '../records/unchained-record.ts'
import type {
  ChainEnd,
  IntentEntry,
  IntentReference,
  OpenIntent,
  OutcomeEntry,
  RefusalEntry,
  ReloadEntry,
  ResolvedEntry,
} from '../records/audit-record.ts'
import { recoverFolder, type Recovery } from './recovery.ts'
import { openRedaction, type Redaction } from '../records/redaction.ts'
import { redactionSchema } from '../../config/audit/redaction-settings.ts'
import { createRequestRecordFactory, type RequestRecordFactory } from '../records/request-records.ts'
import { planRemoval, removeSegments, type Retention } from './retention.ts'
import { openSealKey } from '../records/seal-key.ts'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import type { DurableEnd } from '../sinks/log-follower.ts'
import type { AuditUnavailable } from './audit-unavailable.ts'
import { makeFolder } from '../../lib/fs/make-folder.ts'

export type { AuditLogOptions } from './audit-log-options.ts'

/** Proof that an intent is durable, to be given back with its outcome. */
export type IntentReceipt = OpenIntent

/** What readiness and metrics ask. */
export interface AuditStatus {
  /** False when the next intent would be refused, as far as is known. */
  readonly writable: boolean
  /** The records that wait for the disk. */
  readonly queued: number
  /** The refusals and reloads that were lost since the log was opened. */
  readonly dropped: number
  /** The intents that have no outcome yet. */
  readonly unresolved: number
  /** The last durable record. */
  readonly head: ChainEnd
  /** Why the last group could not be written; internal. */
  readonly failure?: Error
}

/** What nobody waits for may use this share of the queue; the rest is kept for changes. */
const asyncQueueCapacity = 0.5

/**
 * Opens the log of a folder: takes the lock, recovers what a crash left, and begins a new chain there.
 * Throws when another process writes the folder, or when it cannot be written.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const folder = resolve(options.folder)
  const created = await makeFolder(folder, 0o750)
  if (created !== undefined) await syncParents(folder, created)
  const lock = await lockFolder(folder)
  try {
    const recovery = await recoverFolder(folder)
    const { gateway, software, segmentBytes = 64 * 1024 * 1024, segmentMs = 3_600_000 } = options
    const { sealRecords = 1_000, sealKeyFile, reserveBytes = 0, onEvent } = options
    const key = await openSealKey(folder, sealKeyFile)
    if (key.generatedPublicFile !== undefined)
      onEvent?.({ what: 'key made', publicFile: key.generatedPublicFile })
    const reserve = new DiskReserve(join(folder, 'reserve'), reserveBytes)
    await reserve.acquire()
    const chain = { folder, gateway, software, segmentBytes, segmentMs, sealRecords, key, onEvent }
    const redaction = await openRedaction(folder, options.redaction ?? redactionSchema.parse({}))
    const writer = await ChainWriter.create(chain, recovery)
    for (const repair of recovery.repairs) onEvent?.({ what: 'recovered', repair })
    return new AuditLog({ ...options, folder }, writer, lock, recovery, reserve, redaction)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * The audit log of a folder. Records stand in it in the order in which they were handed over, and what waits for
 * the disk is bounded. While the disk fails, nothing is taken; afterwards a `gap` record counts what is missing.
 */
export class AuditLog {
  /** The id of the chain that is written. */
  readonly chain: string
  /** What was found when the log was opened. */
  readonly recovery: Recovery
  /** The context keys that the records of requests may hold. */
  readonly contextKeys: readonly string[]
  readonly #writer: ChainWriter
  readonly #lock: FolderLock
  readonly #records: RequestRecordFactory
  readonly #commit: GroupCommit
  readonly #options: AuditLogOptions
  readonly #sealTimer: NodeJS.Timeout
  #rotations = 0
  #pruning: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #dropped = 0

  /** Use `openAuditLog`. */
  constructor(
    options: AuditLogOptions,
    writer: ChainWriter,
    lock: FolderLock,
    recovery: Recovery,
    reserve: DiskReserve,
    redaction: Redaction,
  ) {
    const { queueRecords = 10_000, queueBytes = 16 * 1024 * 1024, sealMs = 10_000, observer } = options
    const append = async (records: readonly UnchainedRecord[]): Promise<readonly number[]> => {
      if (!lock.isHeld()) throw new Error('another process took over the audit folder')
      const seqs = await writer.append(records)
      if (writer.rotations > this.#rotations) this.prune()
      this.#rotations = writer.rotations
      return seqs
    }
    this.chain = writer.chain
    this.recovery = recovery
    this.contextKeys = redaction.contextKeys
    this.#writer = writer
    this.#lock = lock
    this.#records = createRequestRecordFactory(redaction)
    this.#options = options
    const bounds = { records: queueRecords, bytes: queueBytes }
    this.#commit = new GroupCommit(append, bounds, reserve, observer)
    this.#sealTimer = setInterval(() => this.#requestSeal(), sealMs).unref()
    this.prune()
  }

  /** How the records of that operation are written. */
  modeFor(name: OperationName): OperationMode {
    return this.#modes[getAuditClass(name)]
  }

  /**
   * Resolves when the intent is durable: only then may the change go upstream. Rejects: `AuditUnavailable`.
   * One that nobody waits for leaves half of the queue to the others.
   */
  recordIntent(entry: IntentEntry, isAwaited = true): Promise<IntentReceipt> {
    return new Promise((resolve, onFailure) => {
      const { request } = entry
      const record = this.#records.createIntent(entry)
      const onDurable = (seq: number): void => {
        const receipt = { seq, request, tables: record.tables }
        this.#writer.unresolved.set(seq, receipt)
        resolve(receipt)
      }
      if (!isAwaited) return this.#enqueueAsync(record, onDurable, onFailure)
      this.#commit.enqueue(
        { record, onDurable, onFailure, loss: 'refused', isEssential: false, isAsync: false },
        1,
      )
    })
  }

  /**
   * Resolves when the outcome is durable. It never finds the queue full, because its intent was let in. Rejects
   * with `AuditUnavailable` when the disk fails: it may be tried again with the same receipt, else the next start
   * of the gateway records the outcome as unknown. One that nobody waits for is written a little later.
   */
  recordOutcome(receipt: IntentReceipt, entry: OutcomeEntry, isAwaited = true): Promise<void> {
    return new Promise((resolve, onFailure) => {
      const record = createOutcomeRecord(receipt, entry)
      const onDurable = (): void => {
        this.#writer.unresolved.delete(receipt.seq)
        resolve()
      }
      this.#commit.enqueue(
        { record, onDurable, onFailure, loss: 'refused', isEssential: true, isAsync: !isAwaited },
        Infinity,
      )
    })
  }

  /** Resolves when what an unknown outcome turned out to be is durable. Rejects: `AuditUnavailable`; try again. */
  recordResolution(intent: IntentReference, entry: ResolvedEntry): Promise<void> {
    return new Promise((resolve, onFailure) => {
      const record = createResolvedRecord(intent, entry)
      const onDurable = (): void => resolve()
      this.#commit.enqueue(
        { record, onDurable, onFailure, loss: 'none', isEssential: false, isAsync: false },
        asyncQueueCapacity,
      )
    })
  }

  /** Records a refusal when there is room; else it is dropped, and counted in the log too. */
  recordRefusal(entry: RefusalEntry): void {
    if (this.#modes.denial === 'off') return
    this.#enqueueAsync(this.#records.createRefusal(entry))
  }

  /** Records a reload, like a refusal. */
  recordReload(entry: ReloadEntry): void {
    if (this.#modes.reload !== 'off') this.#enqueueAsync(createRecord('reload', entry))
  }

  /** How far the log is durable; what stands behind may be cut off again. */
  durableEnd(): DurableEnd {
    const { file, length, head } = this.#writer
    return { file, length, chain: head.chain, seq: head.seq }
  }

  /** How the log is now. */
  status(): AuditStatus {
    const { queued, failure } = this.#commit
    return {
      writable:
        failure === undefined && this.#commit.getUnavailableReason(1) === undefined && this.#lock.isHeld(),
      queued,
      dropped: this.#dropped,
      unresolved: this.#writer.unresolved.size,
      head: this.#writer.head,
      ...(failure && { failure }),
    }
  }

  /**
   * Removes what retention lets go. The log does so by itself when it is opened and at the end of every segment; this
   * is for whoever had to open it before knowing what is still needed.
   */
  prune(): void {
    if (this.#options.retention === undefined) return
    const { onEvent } = this.#options
    this.#pruning = this.#pruning
      .then(() => this.#removeExpired(this.#options.retention ?? {}))
      .catch((error: unknown) => {
        if (this.#closing === undefined) onEvent?.({ what: 'unpruned', error })
      })
  }

  /** Writes what waits, takes nothing more, and leaves the folder to others. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  get #modes(): AuditModes {
    return this.#options.modes ?? defaultModes
  }

  async #finish(): Promise<void> {
    clearInterval(this.#sealTimer)
    await this.#commit.drain()
    this.#requestSeal()
    await this.#commit.close()
    await this.#pruning
    await this.#writer.close()
    await this.#lock.release()
  }

  /** What stands behind the last seal is signed. */
  #requestSeal(): void {
    if (!this.#writer.isUnsealed && this.#commit.queued === 0) return
    this.#commit.enqueue(createInternalRecord(createSealRequest(), ignore, ignore), Infinity)
  }

  #enqueueAsync(
    record: UnchainedRecord,
    onDurable: (seq: number) => void = ignore,
    failed: (error: AuditUnavailable) => void = ignore,
  ): void {
    const dropped = (error: AuditUnavailable): void => {
      this.#dropped += 1
      this.#options.observer?.dropped()
      failed(error)
    }
    this.#commit.enqueue(
      { record, onDurable, onFailure: dropped, loss: 'dropped', isEssential: false, isAsync: true },
      asyncQueueCapacity,
    )
  }

  /** The log says what is removed, signed, before it is. */
  async #removeExpired(retention: Retention): Promise<void> {
    const { folder, onEvent } = this.#options
    const polledFor = retention.inDoubtIntents === undefined ? [] : retention.inDoubtIntents()
    if (polledFor === undefined) return
    const { chain, file, unresolved } = this.#writer
    const open = [...unresolved.keys()].map((seq) => ({ chain, seq }))
    const removal = await planRemoval(folder, file, [...open, ...polledFor], retention)
    if (removal === undefined) return
    await new Promise<void>((resolve, failed) => {
      this.#commit.enqueue(createInternalRecord(createRecord('pruned', removal), ignore, failed), Infinity)
      this.#commit.enqueue(createInternalRecord(createSealRequest(), resolve, failed), Infinity)
    })
    await removeSegments(folder, removal.files)
    onEvent?.({ what: 'pruned', files: removal.files })
  }
}

function ignore(): void {}

/** What the log says of itself: it finds room where nothing else does, and is not missed as the record of a request. */
function createInternalRecord(
  record: UnchainedRecord,
  onDurable: () => void,
  onFailure: (error: AuditUnavailable) => void,
): PendingRecord {
  return { record, onDurable, onFailure, loss: 'none', isEssential: true, isAsync: false }
}

async function syncParents(folder: string, created: string): Promise<void> {
  for (let child = folder; child.length >= created.length; child = dirname(child)) {
    await syncFolder(dirname(child))
  }
}
