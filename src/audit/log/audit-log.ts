import { dirname, join, resolve } from 'node:path'
import type { Operation } from '../../catalog-api/index.ts'
import { ChainWriter, createSealRequest } from './chain-writer.ts'
import { type FileLock, lockFile, makeFolder, syncFolder } from '../../lib/index.ts'
import { GroupCommit, type AuditObserver, type AuditUnavailable, type Priority } from './group-commit.ts'
import { type AuditMode, redactionSchema, type RedactionSettings } from '../../config/index.ts'
import {
  createOutcomeRecord,
  createRecord,
  createRequestRecordFactory,
  createResolvedRecord,
  type RequestRecordFactory,
  type UnchainedRecord,
} from '../records/unchained-record.ts'
import type {
  ChainEnd,
  IntentEntry,
  IntentReference,
  OutcomeEntry,
  PassThroughEntry,
  RefusalEntry,
  ReloadEntry,
  ResolvedEntry,
} from '../records/audit-record.ts'
import { recoverFolder, type Recovery } from './recovery.ts'
import { openRedaction, type Redaction } from '../records/redaction.ts'
import { planRemoval, removeSegments, type Retention } from './retention.ts'
import { openSealKey } from '../records/seal-key.ts'
import type { DurableEnd } from '../sinks/sink.ts'

export interface AuditLogOptions {
  /** Created if missing. */
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** Size at which a segment is rotated. Default: 64 MiB. */
  readonly segmentBytes?: number
  /** Age at which a segment is rotated. Default: one hour. */
  readonly segmentMs?: number
  /** Ed25519 key of the seals (PKCS #8, PEM). Default: a key in the folder, generated if missing. */
  readonly sealKeyFile?: string | undefined
  /** Maximum number of records between two seals. Default: 1,000. */
  readonly sealRecords?: number
  /** Maximum time from a record to its seal. Default: 10 seconds. */
  readonly sealMs?: number
  /** Default: nothing is removed. */
  readonly retention?: Retention
  /** How changes are recorded. Default: `strict`. */
  readonly mode?: AuditMode
  /** Whether reads are recorded, too. Default: no. */
  readonly reads?: boolean
  /** Maximum number of queued records. Default: 10,000. */
  readonly queueRecords?: number
  /** Maximum size of the text of queued records. Default: 16 MiB. */
  readonly queueBytes?: number
  readonly redaction?: RedactionSettings
  readonly observer?: Partial<AuditObserver>
}

interface AuditStatus {
  /** False if the next intent would be refused, as far as is known. */
  readonly writable: boolean
  readonly queued: number
  /** Number of refusals and reloads lost since the log was opened. */
  readonly dropped: number
  readonly unresolved: number
  readonly head: ChainEnd
}

/** In one record of a reload. */
const maxKeyChanges = 100

/** Takes the lock, recovers from a crash and starts a new chain. Throws if the folder is in use or not writable. */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const folder = resolve(options.folder)
  const created = await makeFolder(folder, 0o750)
  if (created !== undefined) await syncParents(folder, created)
  const lock = await lockFile(join(folder, 'writer.lock'))
  try {
    const { gateway, software, segmentBytes = 64 * 1024 * 1024, segmentMs = 3_600_000 } = options
    const { sealRecords = 1_000, sealKeyFile, observer = {} } = options
    const key = await openSealKey(folder, sealKeyFile)
    if (key.generatedPublicFile !== undefined) observer.keyGenerated?.(key.generatedPublicFile)
    const recovery = await recoverFolder(folder, key)
    const chain = { folder, gateway, software, segmentBytes, segmentMs, sealRecords, key, observer }
    const redaction = await openRedaction(folder, options.redaction ?? redactionSchema.parse({}))
    const writer = await ChainWriter.create(chain, recovery)
    for (const repair of recovery.repairs) observer.recovered?.(repair)
    for (const { file, what, lines } of recovery.foreign) observer.tampered?.(file, what, lines)
    return new AuditLog({ ...options, folder }, writer, lock, recovery, redaction)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Stores records in the order of the calls. Rejects them while the disk fails; a `gap` record then counts them. */
export class AuditLog {
  readonly chain: string
  readonly recovery: Recovery
  readonly contextKeys: readonly string[]
  readonly mode: AuditMode
  readonly #writer: ChainWriter
  readonly #lock: FileLock
  readonly #records: RequestRecordFactory
  readonly #redaction: Redaction
  readonly #commit: GroupCommit
  readonly #options: AuditLogOptions
  readonly #observer: Partial<AuditObserver>
  readonly #sealTimer: NodeJS.Timeout
  #rotations = 0
  #pruning: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #dropped = 0

  /** Use `openAuditLog` instead. */
  constructor(
    options: AuditLogOptions,
    writer: ChainWriter,
    lock: FileLock,
    recovery: Recovery,
    redaction: Redaction,
  ) {
    const { queueRecords = 10_000, queueBytes = 16 * 1024 * 1024, sealMs = 10_000 } = options
    const append = async (records: readonly UnchainedRecord[]): Promise<readonly number[]> => {
      if (!lock.isHeld()) throw new Error('another process took over the audit folder, or may have')
      const seqs = await writer.append(records)
      if (writer.rotations > this.#rotations) this.prune()
      this.#rotations = writer.rotations
      return seqs
    }
    this.chain = writer.chain
    this.recovery = recovery
    this.contextKeys = redaction.contextKeys
    this.mode = options.mode ?? 'strict'
    this.#writer = writer
    this.#lock = lock
    this.#records = createRequestRecordFactory(redaction)
    this.#redaction = redaction
    this.#options = options
    this.#observer = options.observer ?? {}
    const bounds = { records: queueRecords, bytes: queueBytes }
    this.#commit = new GroupCommit(append, bounds, this.#observer)
    this.#sealTimer = setInterval(() => this.#requestSeal(), sealMs).unref()
    this.prune()
  }

  /** Undefined for an operation without records. */
  modeFor({ effect }: Pick<Operation, 'effect'>): AuditMode | undefined {
    return effect === 'read' && this.#options.reads !== true ? undefined : this.mode
  }

  /**
   * Resolves when the intent is durable: only then may the change be sent upstream. Rejects with `AuditUnavailable`.
   */
  async recordIntent(entry: IntentEntry, isAwaited = true): Promise<IntentReference> {
    const record = this.#records.createIntent(entry)
    const seq = await this.#enqueueRequest(record, isAwaited)
    const receipt = { chain: this.chain, seq, request: entry.request, tables: record.tables }
    this.#writer.unresolved.set(seq, receipt)
    return receipt
  }

  /**
   * Resolves when the outcome is durable. Never rejected for a full queue. Rejects with `AuditUnavailable` if the disk
   * fails; the call may be repeated with the same receipt, otherwise the next start records the outcome as unknown.
   */
  async recordOutcome(receipt: IntentReference, entry: OutcomeEntry, isAwaited = true): Promise<void> {
    await this.#enqueue(createOutcomeRecord(receipt, entry), 'outcome', !isAwaited)
    this.#writer.unresolved.delete(receipt.seq)
  }

  /** Resolves when the resolution is durable. Rejects with `AuditUnavailable`; the call may be repeated. */
  async recordResolution(intent: IntentReference, entry: ResolvedEntry): Promise<void> {
    await this.#enqueue(createResolvedRecord(intent, entry), 'resolution')
  }

  /** Records a refusal if the queue has room; otherwise drops it and counts it in the log. */
  recordRefusal(entry: RefusalEntry): void {
    this.#enqueueAsync(this.#records.createRefusal(entry))
  }

  /**
   * Resolves when the record is durable: only then may the request be sent upstream. Rejects with `AuditUnavailable`.
   */
  async recordPassThrough(entry: PassThroughEntry, isAwaited = true): Promise<void> {
    await this.#enqueueRequest(this.#records.createPassThrough(entry), isAwaited)
  }

  /**
   * Records a reload, in several records if many keys changed. Drops them like refusals if the queue is full. `onDurable`
   * is called when the last one is durable.
   */
  recordReload({ keys = [], ...entry }: ReloadEntry, onDurable?: () => void): void {
    for (let index = 0; index === 0 || index < keys.length; index += maxKeyChanges) {
      const part = keys.slice(index, index + maxKeyChanges).map((one) => this.#redaction.redactKeyChange(one))
      const record = createRecord('reload', { ...entry, ...(part.length > 0 && { keys: part }) })
      this.#enqueueAsync(record, index + maxKeyChanges >= keys.length ? onDurable : undefined)
    }
  }

  /** Returns the end of the durable part of the log; data after it may be truncated. */
  durableEnd(): DurableEnd {
    const { file, length, head } = this.#writer
    return { file, length, chain: head.chain, seq: head.seq }
  }

  status(): AuditStatus {
    const { queued, failure } = this.#commit
    return {
      writable:
        failure === undefined &&
        this.#commit.getUnavailableReason('request') === undefined &&
        this.#lock.isHeld(),
      queued,
      dropped: this.#dropped,
      unresolved: this.#writer.unresolved.size,
      head: this.#writer.head,
    }
  }

  /** Removes segments by retention, as opening and rotation do. Call it once `Retention.inDoubtIntents` is known. */
  prune(): void {
    if (this.#options.retention === undefined) return
    this.#pruning = this.#pruning
      .then(() => this.#removeExpired(this.#options.retention ?? {}))
      .catch((error: unknown) => {
        if (this.#closing === undefined) this.#observer.pruningFailed?.(error)
      })
  }

  /** Writes all queued records, accepts no more, and releases the lock of the folder. */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
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

  #requestSeal(): void {
    if (!this.#writer.isUnsealed && this.#commit.queued === 0) return
    void this.#enqueue(createSealRequest(), 'internal').catch(ignore)
  }

  /** Resolves with the number of the record when it is durable. */
  #enqueue(record: UnchainedRecord, priority: Priority, isAsync = false): Promise<number> {
    return new Promise((onDurable, onFailure) => {
      this.#commit.enqueue({ record, onDurable, onFailure, priority, isAsync })
    })
  }

  #enqueueRequest(record: UnchainedRecord, isAwaited: boolean): Promise<number> {
    if (isAwaited) return this.#enqueue(record, 'request')
    return new Promise((resolve, reject) => this.#enqueueAsync(record, resolve, reject))
  }

  #enqueueAsync(
    record: UnchainedRecord,
    onDurable: (seq: number) => void = ignore,
    failed: (error: AuditUnavailable) => void = ignore,
  ): void {
    const onFailure = (error: AuditUnavailable): void => {
      this.#dropped += 1
      this.#observer.dropped?.()
      failed(error)
    }
    this.#commit.enqueue({ record, onDurable, onFailure, priority: 'optional', isAsync: true })
  }

  /** The removal is recorded and sealed before it is executed. */
  async #removeExpired(retention: Retention): Promise<void> {
    const { folder } = this.#options
    const inDoubt = retention.inDoubtIntents === undefined ? [] : retention.inDoubtIntents()
    if (inDoubt === undefined) return
    const { file, unresolved } = this.#writer
    const removal = await planRemoval(folder, file, [...unresolved.values(), ...inDoubt], retention)
    if (removal === undefined) return
    await Promise.all([
      this.#enqueue(createRecord('pruned', removal), 'internal'),
      this.#enqueue(createSealRequest(), 'internal'),
    ])
    await removeSegments(folder, removal.files)
    this.#observer.pruned?.(removal.files)
  }
}

function ignore(): void {}

async function syncParents(folder: string, created: string): Promise<void> {
  for (let child = folder; child.length >= created.length; child = dirname(child)) {
    await syncFolder(dirname(child))
  }
}
