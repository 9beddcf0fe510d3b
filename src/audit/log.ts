import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ChainWriter } from './chain-writer.ts'
import { lockFolder, type FolderLock } from './folder-lock.ts'
import { GroupCommit, type AuditObserver } from './group-commit.ts'
import {
  intentRecord,
  looseRecord,
  outcomeRecord,
  refusalRecord,
  type IntentEntry,
  type LooseRecord,
  type OutcomeEntry,
  type RefusalEntry,
  type ReloadEntry,
} from './records.ts'
import { recoverFolder, type Recovery } from './recovery.ts'
import { syncFolder } from './segment-file.ts'

/** What a log is opened with. */
export interface AuditLogOptions {
  /** Created when missing. */
  readonly folder: string
  /** The name of the gateway instance. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
  /** A segment that has reached so many bytes is followed by the next one: 64 MiB. */
  readonly segmentBytes?: number
  /** So many records may wait for the disk: 10,000. */
  readonly queueRecords?: number
  /** When the text of the records that wait for the disk has reached so many bytes, it is full: 16 MiB. */
  readonly queueBytes?: number
  readonly observe?: AuditObserver
}

/** Proof that an intent is durable, to be given back with its outcome. */
export interface IntentReceipt {
  readonly seq: number
  readonly request: string
}

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
  /** Why the last group could not be written; internal. */
  readonly failure?: Error
}

/** Refusals and reloads may use this share of the queue; the rest is kept for changes. */
const lossyShare = 0.5

/**
 * Opens the log of a folder: takes the lock, recovers what a crash left, and begins a new chain there.
 * Throws when another process writes the folder, or when it cannot be written.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const folder = resolve(options.folder)
  const created = await mkdir(folder, { recursive: true, mode: 0o750 })
  if (created !== undefined) await syncParents(folder, created)
  const lock = await lockFolder(folder)
  try {
    const recovery = await recoverFolder(folder)
    const { gateway, software, segmentBytes = 64 * 1024 * 1024 } = options
    const writer = await ChainWriter.begin({ folder, gateway, software, segmentBytes }, recovery)
    return new AuditLog(writer, lock, recovery, options)
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
  readonly #writer: ChainWriter
  readonly #lock: FolderLock
  readonly #commit: GroupCommit
  readonly #observe: AuditObserver | undefined
  #closing: Promise<void> | undefined
  #dropped = 0

  /** Use `openAuditLog`. */
  constructor(writer: ChainWriter, lock: FolderLock, recovery: Recovery, options: AuditLogOptions) {
    const { queueRecords = 10_000, queueBytes = 16 * 1024 * 1024, observe } = options
    const append = async (records: readonly LooseRecord[]): Promise<number> => {
      if (!lock.held()) throw new Error('Another process has taken over the audit folder.')
      return writer.append(records)
    }
    this.chain = writer.chain
    this.recovery = recovery
    this.#writer = writer
    this.#lock = lock
    this.#commit = new GroupCommit(append, { records: queueRecords, bytes: queueBytes }, observe)
    this.#observe = observe
  }

  /** Resolves when the intent is durable: only then may the change go upstream. Rejects: `AuditUnavailable`. */
  intent(entry: IntentEntry): Promise<IntentReceipt> {
    return new Promise((resolve, failed) => {
      const { request } = entry
      const durable = (seq: number): void => {
        this.#writer.unresolved.set(seq, request)
        resolve({ seq, request })
      }
      this.#commit.enqueue({ record: intentRecord(entry), durable, failed, answered: true }, 1)
    })
  }

  /**
   * Resolves when the outcome is durable. It never finds the queue full, because its intent was let in. Rejects
   * with `AuditUnavailable` when the disk fails: it may be tried again with the same receipt, else the next start
   * of the gateway records the outcome as unknown.
   */
  outcome(receipt: IntentReceipt, entry: OutcomeEntry): Promise<void> {
    return new Promise((resolve, failed) => {
      const record = outcomeRecord(receipt.seq, receipt.request, entry)
      const durable = (): void => {
        this.#writer.unresolved.delete(receipt.seq)
        resolve()
      }
      this.#commit.enqueue({ record, durable, failed, answered: true }, Infinity)
    })
  }

  /** Records a refusal when there is room; else it is dropped, and counted in the log too. */
  refusal(entry: RefusalEntry): void {
    this.#enqueueLossy(refusalRecord(entry))
  }

  /** Records a reload, like a refusal. */
  reload(entry: ReloadEntry): void {
    this.#enqueueLossy(looseRecord('reload', entry))
  }

  /** How the log is now. */
  status(): AuditStatus {
    const { queued, failure } = this.#commit
    return {
      writable: failure === undefined && this.#commit.unavailable(1) === undefined && this.#lock.held(),
      queued,
      dropped: this.#dropped,
      unresolved: this.#writer.unresolved.size,
      ...(failure && { failure }),
    }
  }

  /** Writes what waits, takes nothing more, and leaves the folder to others. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    await this.#commit.close()
    await this.#writer.close()
    await this.#lock.release()
  }

  #enqueueLossy(record: LooseRecord): void {
    const failed = (): void => {
      this.#dropped += 1
      this.#observe?.dropped()
    }
    this.#commit.enqueue({ record, durable: () => undefined, failed, answered: false }, lossyShare)
  }
}

async function syncParents(folder: string, created: string): Promise<void> {
  for (let child = folder; child.length >= created.length; child = dirname(child)) {
    await syncFolder(dirname(child))
  }
}
