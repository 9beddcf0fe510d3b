import { existsSync } from 'node:fs'
import { mkdtemp, rmdir, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Operation } from '../../catalog-api/index.ts'
import { chainBounds, openChain } from './chain-writer.ts'
import { type FileLock, ignoreMissing, lockFile, makeFolder, syncFolder } from '../../lib/index.ts'
import { type AuditObserver, createGroupCommit, queueBounds } from './group-commit.ts'
import { type AuditSettings, redactionSchema } from '../../config/index.ts'
import {
  createRecord,
  createRequestRecordFactory,
  type UnchainedRecord,
} from '../records/unchained-record.ts'
import type {
  IntentEntry,
  IntentReference,
  OutcomeEntry,
  PassThroughEntry,
  RefusalEntry,
  ReloadEntry,
  ResolvedEntry,
} from '../records/audit-record.ts'
import { recoverFolder } from './recovery.ts'
import { openRedaction } from '../records/redaction.ts'
import { planRemoval, type Retention } from './retention.ts'
import { openSealKey } from '../records/seal-key.ts'
import type { DurableEnd } from '../sinks/sink.ts'

/** `sealMs`: maximum time from a record to its seal. */
const defaultBounds = { ...chainBounds, ...queueBounds, sealMs: 10_000 }

type Settings = Partial<Pick<AuditSettings, 'sealKeyFile' | 'mode' | 'reads' | 'redaction'>>

export interface AuditLogOptions extends Settings, Partial<typeof defaultBounds> {
  /** Created if missing. */
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** Default: nothing is removed. */
  readonly retention?: Retention
  readonly observer?: Partial<AuditObserver>
}

/** In one record of a reload. */
const maxKeyChanges = 100

/** Takes the lock, recovers from a crash and starts a new chain. Throws if the folder is in use or not writable. */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const folder = resolve(options.folder)
  const created = await makeFolder(folder, 0o750)
  if (created !== undefined) await syncParents(folder, created)
  const lock = await lockFile(join(folder, lockName))
  try {
    return await startChain({ ...options, folder }, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Only one process writes the log. */
const lockName = 'writer.lock'

/**
 * Rejects if the folder is in use, or if it cannot be written or created. Leaves a missing one missing: created by another
 * user than that of the gateway, it would be of no use to it.
 */
export async function checkAuditFolder(folder: string): Promise<void> {
  const path = resolve(folder)
  if (existsSync(path)) return (await lockFile(join(path, lockName))).release()
  let parent = dirname(path)
  while (!existsSync(parent)) parent = dirname(parent)
  const created = await mkdtemp(join(parent, '.catalog-gateway-')).catch((error: unknown) => {
    throw new Error(`${path}: no folder can be created in ${parent}`, { cause: error })
  })
  await rmdir(created)
}

/** Stores records in the order of the calls. Rejects them while the disk fails; a `gap` record then counts them. */
export type AuditLog = Awaited<ReturnType<typeof startChain>>

async function startChain(options: AuditLogOptions, lock: FileLock) {
  const { folder, sealKeyFile, mode = 'strict', reads = false, retention, observer = {} } = options
  const bounds = { ...defaultBounds, ...options }
  const key = await openSealKey(folder, sealKeyFile, observer.keyGenerated)
  const recovery = await recoverFolder(folder, key)
  const redaction = await openRedaction(folder, options.redaction ?? redactionSchema.parse({}))
  const requests = createRequestRecordFactory(redaction)
  const writer = await openChain({ ...bounds, key, observer }, recovery)
  for (const repair of recovery.repairs) observer.recovered?.(repair)
  for (const { file, what, lines } of recovery.foreign) observer.tampered?.(file, what, lines)

  const queue = createGroupCommit(append, bounds, observer)
  const sealTimer = setInterval(requestSeal, bounds.sealMs).unref()
  let rotations = 0
  let pruning = Promise.resolve()
  let closing: Promise<void> | undefined
  prune()

  async function append(records: readonly UnchainedRecord[], isSealed: boolean): Promise<readonly number[]> {
    if (!lock.isHeld()) throw new Error('another process took over the audit folder, or may have')
    const seqs = await writer.append(records, isSealed)
    const written = writer.status().rotations
    if (written > rotations) prune()
    rotations = written
    return seqs
  }

  function requestSeal(): void {
    if (writer.status().unsealed > 0 || queue.status().queued > 0) queue.seal()
  }

  function prune(): void {
    if (retention === undefined) return
    pruning = pruning
      .then(() => removeExpired(retention))
      .catch((error: unknown) => {
        if (closing === undefined) observer.pruningFailed?.(error)
      })
  }

  /** The removal is recorded and sealed before it is executed. */
  async function removeExpired(retention: Retention): Promise<void> {
    const inDoubt = retention.inDoubtIntents === undefined ? [] : retention.inDoubtIntents()
    if (inDoubt === undefined) return
    const open = [...writer.unresolved.values(), ...inDoubt]
    const removal = await planRemoval(folder, writer.status().file, open, retention)
    if (removal === undefined) return
    const recorded = queue.enqueue(createRecord('pruned', removal), 'internal')
    queue.seal()
    await recorded
    for (const file of removal.files) await unlink(join(folder, file)).catch(ignoreMissing)
    await syncFolder(folder)
    observer.pruned?.(removal.files)
  }

  async function finish(): Promise<void> {
    clearInterval(sealTimer)
    await queue.close()
    await pruning
    await writer.close()
    await lock.release()
  }

  return {
    chain: writer.chain,
    recovery,
    contextKeys: redaction.contextKeys,
    /** How changes are recorded. */
    mode,
    /** Undefined for an operation without records. */
    modeFor: ({ effect }: Pick<Operation, 'effect'>) => (effect === 'read' && !reads ? undefined : mode),
    /** Resolves when the intent is durable: only then may the change be sent upstream. Otherwise rejects with 503. */
    async recordIntent(entry: IntentEntry, isAwaited = true): Promise<IntentReference> {
      const record = requests.createIntent(entry)
      const seq = await queue.enqueue(record, isAwaited ? 'request' : 'optional')
      const receipt = { chain: writer.chain, seq, request: entry.request, tables: record.tables }
      writer.unresolved.set(seq, receipt)
      return receipt
    },
    /**
     * Resolves when the outcome is durable. Never rejected for a full queue. Rejects with 503 if the disk
     * fails; the call may be repeated with the same receipt, otherwise the next start records the outcome as unknown.
     */
    async recordOutcome(receipt: IntentReference, entry: OutcomeEntry, isAwaited = true): Promise<void> {
      const { request, seq: intentSeq, tables } = receipt
      const record = createRecord('outcome', { request, intentSeq, ...entry }, tables)
      await queue.enqueue(record, 'outcome', !isAwaited)
      writer.unresolved.delete(intentSeq)
    },
    /** Resolves when the resolution is durable. Rejects with 503; the call may be repeated. */
    async recordResolution(intent: IntentReference, entry: ResolvedEntry): Promise<void> {
      const { request, seq: intentSeq, chain: intentChain, tables } = intent
      const record = createRecord('resolved', { request, intentSeq, intentChain, ...entry }, tables)
      await queue.enqueue(record, 'resolution')
    },
    /** Records a refusal if the queue has room; otherwise drops it and counts it in the log. */
    recordRefusal(entry: RefusalEntry): void {
      queue.enqueue(requests.createRefusal(entry), 'optional').catch(ignore)
    },
    /** Resolves when the record is durable: only then may the request be sent upstream. Otherwise rejects with 503. */
    async recordPassThrough(entry: PassThroughEntry, isAwaited = true): Promise<void> {
      await queue.enqueue(requests.createPassThrough(entry), isAwaited ? 'request' : 'optional')
    },
    /**
     * Records a reload, in several records if many keys changed. Drops them like refusals if the queue is full. `onDurable`
     * is called when the last one is durable; it must not throw.
     */
    recordReload({ keys = [], ...entry }: ReloadEntry, onDurable: () => void = ignore): void {
      for (let index = 0; index === 0 || index < keys.length; index += maxKeyChanges) {
        const part = keys.slice(index, index + maxKeyChanges).map((one) => redaction.redactKeyChange(one))
        const record = createRecord('reload', { ...entry, ...(part.length > 0 && { keys: part }) })
        const isLast = index + maxKeyChanges >= keys.length
        queue.enqueue(record, 'optional').then(isLast ? onDurable : ignore, ignore)
      }
    },
    /** Returns the end of the durable part of the log; data after it may be truncated. */
    durableEnd(): DurableEnd {
      const { file, length, head } = writer.status()
      return { file, length, chain: head.chain, seq: head.seq }
    },
    status() {
      const { isWritable, queued, dropped } = queue.status()
      const { head, tampered } = writer.status()
      return {
        /** False if the next intent would be refused, as far as is known. */
        writable: isWritable && lock.isHeld(),
        queued,
        /** Number of refusals and reloads lost since the log was opened. */
        dropped,
        unresolved: writer.unresolved.size,
        /** Number of changes of files by others that were found at the start, or since then. */
        tampered,
        head,
      }
    },
    /** Removes segments by retention, as opening and rotation do. Call it once `Retention.inDoubtIntents` is known. */
    prune,
    /** Writes all queued records, accepts no more, and releases the lock of the folder. */
    close(): Promise<void> {
      closing ??= finish()
      return closing
    },
  }
}

function ignore(): void {}

async function syncParents(folder: string, created: string): Promise<void> {
  for (let child = folder; child.length >= created.length; child = dirname(child)) {
    await syncFolder(dirname(child))
  }
}
