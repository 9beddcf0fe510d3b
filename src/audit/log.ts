import { dirname, join, resolve } from 'node:path'
import type { OperationName } from '../interface/operations.ts'
import { sealHere } from './chain-group.ts'
import { ChainWriter } from './chain-writer.ts'
import { DiskReserve } from './disk-reserve.ts'
import { lockFolder, type FolderLock } from './folder-lock.ts'
import { GroupCommit, type Waiting } from './group-commit.ts'
import type { AuditLogOptions } from './log-options.ts'
import { auditClassOf, defaultModes, type AuditModes, type OperationMode } from './modes.ts'
import { looseRecord, outcomeRecord, resolvedRecord, type LooseRecord } from './loose-records.ts'
import type {
  ChainEnd,
  IntentEntry,
  IntentPlace,
  OpenIntent,
  OutcomeEntry,
  RefusalEntry,
  ReloadEntry,
  ResolvedEntry,
} from './records.ts'
import { recoverFolder, type Recovery } from './recovery.ts'
import { openRedaction, redactionSchema, type Redaction } from './redaction.ts'
import { requestRecords, type RequestRecords } from './request-records.ts'
import { planRemoval, removeSegments, type Retention } from './retention.ts'
import { openSealKey } from './seal-key.ts'
import { syncFolder } from '../identity/sync-folder.ts'
import type { DurableEnd } from './sinks/follow-log.ts'
import type { AuditUnavailable } from './unavailable.ts'
import { makeFolder } from '../make-folder.ts'

export type { AuditLogOptions } from './log-options.ts'

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
const lossyShare = 0.5

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
    const { sealRecords = 1_000, sealKeyFile, reserveBytes = 0, noted } = options
    const key = await openSealKey(folder, sealKeyFile)
    if (key.madePublicFile !== undefined) noted?.({ what: 'key made', publicFile: key.madePublicFile })
    const reserve = new DiskReserve(join(folder, 'reserve'), reserveBytes)
    await reserve.take()
    const chain = { folder, gateway, software, segmentBytes, segmentMs, sealRecords, key, noted }
    const redaction = await openRedaction(folder, options.redaction ?? redactionSchema.parse({}))
    const writer = await ChainWriter.begin(chain, recovery)
    for (const repair of recovery.repairs) noted?.({ what: 'recovered', repair })
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
  readonly #records: RequestRecords
  readonly #commit: GroupCommit
  readonly #options: AuditLogOptions
  readonly #sealing: NodeJS.Timeout
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
    const { queueRecords = 10_000, queueBytes = 16 * 1024 * 1024, sealMs = 10_000, observe } = options
    const append = async (records: readonly LooseRecord[]): Promise<readonly number[]> => {
      if (!lock.held()) throw new Error('another process took over the audit folder')
      const seqs = await writer.append(records)
      if (writer.rotations > this.#rotations) this.removeOld()
      this.#rotations = writer.rotations
      return seqs
    }
    this.chain = writer.chain
    this.recovery = recovery
    this.contextKeys = redaction.contextKeys
    this.#writer = writer
    this.#lock = lock
    this.#records = requestRecords(redaction)
    this.#options = options
    const bounds = { records: queueRecords, bytes: queueBytes }
    this.#commit = new GroupCommit(append, bounds, reserve, observe)
    this.#sealing = setInterval(() => this.#seal(), sealMs).unref()
    this.removeOld()
  }

  /** How the records of that operation are written. */
  modeOf(name: OperationName): OperationMode {
    return this.#modes[auditClassOf(name)]
  }

  /**
   * Resolves when the intent is durable: only then may the change go upstream. Rejects: `AuditUnavailable`.
   * One that nobody waits for leaves half of the queue to the others.
   */
  intent(entry: IntentEntry, isAwaited = true): Promise<IntentReceipt> {
    return new Promise((resolve, failed) => {
      const { request } = entry
      const record = this.#records.intent(entry)
      const durable = (seq: number): void => {
        const receipt = { seq, request, tables: record.tables }
        this.#writer.unresolved.set(seq, receipt)
        resolve(receipt)
      }
      if (!isAwaited) return this.#enqueueLossy(record, durable, failed)
      this.#commit.enqueue({ record, durable, failed, loss: 'refused', essential: false, lingers: false }, 1)
    })
  }

  /**
   * Resolves when the outcome is durable. It never finds the queue full, because its intent was let in. Rejects
   * with `AuditUnavailable` when the disk fails: it may be tried again with the same receipt, else the next start
   * of the gateway records the outcome as unknown. One that nobody waits for is written a little later.
   */
  outcome(receipt: IntentReceipt, entry: OutcomeEntry, isAwaited = true): Promise<void> {
    return new Promise((resolve, failed) => {
      const record = outcomeRecord(receipt, entry)
      const durable = (): void => {
        this.#writer.unresolved.delete(receipt.seq)
        resolve()
      }
      this.#commit.enqueue(
        { record, durable, failed, loss: 'refused', essential: true, lingers: !isAwaited },
        Infinity,
      )
    })
  }

  /** Resolves when what an unknown outcome turned out to be is durable. Rejects: `AuditUnavailable`; try again. */
  resolved(intent: IntentPlace, entry: ResolvedEntry): Promise<void> {
    return new Promise((resolve, failed) => {
      const record = resolvedRecord(intent, entry)
      const durable = (): void => resolve()
      this.#commit.enqueue(
        { record, durable, failed, loss: 'none', essential: false, lingers: false },
        lossyShare,
      )
    })
  }

  /** Records a refusal when there is room; else it is dropped, and counted in the log too. */
  refusal(entry: RefusalEntry): void {
    if (this.#modes.denial === 'off') return
    this.#enqueueLossy(this.#records.refusal(entry))
  }

  /** Records a reload, like a refusal. */
  reload(entry: ReloadEntry): void {
    if (this.#modes.reload !== 'off') this.#enqueueLossy(looseRecord('reload', entry))
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
      writable: failure === undefined && this.#commit.unavailable(1) === undefined && this.#lock.held(),
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
  removeOld(): void {
    if (this.#options.retention === undefined) return
    const { noted } = this.#options
    this.#pruning = this.#pruning
      .then(() => this.#removeOldest(this.#options.retention ?? {}))
      .catch((error: unknown) => {
        if (this.#closing === undefined) noted?.({ what: 'unpruned', error })
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
    clearInterval(this.#sealing)
    await this.#commit.settle()
    this.#seal()
    await this.#commit.close()
    await this.#pruning
    await this.#writer.close()
    await this.#lock.release()
  }

  /** What stands behind the last seal is signed. */
  #seal(): void {
    if (!this.#writer.isUnsealed && this.#commit.queued === 0) return
    this.#commit.enqueue(ownRecord(sealHere(), ignore, ignore), Infinity)
  }

  #enqueueLossy(
    record: LooseRecord,
    durable: (seq: number) => void = ignore,
    failed: (error: AuditUnavailable) => void = ignore,
  ): void {
    const dropped = (error: AuditUnavailable): void => {
      this.#dropped += 1
      this.#options.observe?.dropped()
      failed(error)
    }
    this.#commit.enqueue(
      { record, durable, failed: dropped, loss: 'dropped', essential: false, lingers: true },
      lossyShare,
    )
  }

  /** The log says what is removed, signed, before it is. */
  async #removeOldest(retention: Retention): Promise<void> {
    const { folder, noted } = this.#options
    const lookedFor = retention.lookedFor === undefined ? [] : retention.lookedFor()
    if (lookedFor === undefined) return
    const { chain, file, unresolved } = this.#writer
    const open = [...unresolved.keys()].map((seq) => ({ chain, seq }))
    const removal = await planRemoval(folder, file, [...open, ...lookedFor], retention)
    if (removal === undefined) return
    await new Promise<void>((resolve, failed) => {
      this.#commit.enqueue(ownRecord(looseRecord('pruned', removal), ignore, failed), Infinity)
      this.#commit.enqueue(ownRecord(sealHere(), resolve, failed), Infinity)
    })
    await removeSegments(folder, removal.files)
    noted?.({ what: 'pruned', files: removal.files })
  }
}

function ignore(): void {}

/** What the log says of itself: it finds room where nothing else does, and is not missed as the record of a request. */
function ownRecord(
  record: LooseRecord,
  durable: () => void,
  failed: (error: AuditUnavailable) => void,
): Waiting {
  return { record, durable, failed, loss: 'none', essential: true, lingers: false }
}

async function syncParents(folder: string, created: string): Promise<void> {
  for (let child = folder; child.length >= created.length; child = dirname(child)) {
    await syncFolder(dirname(child))
  }
}
