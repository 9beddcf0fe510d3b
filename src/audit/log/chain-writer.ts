import { readdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AuditLogEvent } from './audit-log-event.ts'
import { zeroHash } from '../records/hash-chain.ts'
import { RecordGroup, createSealRequest, type ChainState, type SealOptions } from './record-group.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import { MerkleRoot } from '../records/merkle.ts'
import type { ChainEnd, FileTampering, OpenIntent } from '../records/audit-record.ts'
import { Journal, journalName } from '../storage/journal.ts'
import { createOpeningRecords } from './opening-records.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import { SegmentFile } from './segment-file.ts'
import { createChainId, formatSegmentName } from '../storage/segment-names.ts'
import { TableLinks } from './table-links.ts'

/** Where a chain is written, and by whom. */
export interface ChainWriterOptions extends SealOptions {
  readonly folder: string
  /** The name of the gateway instance. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
  /** A segment that has reached so many bytes, or is so many milliseconds old, is followed by the next one. */
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly onEvent?: ((note: AuditLogEvent) => void) | undefined
}

/**
 * What others did to the file is looked for at most so often, in milliseconds, and with every seal that is asked for:
 * a look takes as long as a write, and groups follow each other in less.
 */
export const fileCheckIntervalMs = 20

/** Likewise at the journal: without it, a record is in danger only when the power is cut too. */
export const journalCheckIntervalMs = 200

/** The name of a chain that is not complete enough to be one yet. */
const openingSuffix = '.opening'

/** A new chain, and the only writer of it. */
export class ChainWriter {
  readonly chain: string
  /** The intents without an outcome, by seq; kept by whoever appends. */
  readonly unresolved = new Map<number, OpenIntent>()
  readonly #options: ChainWriterOptions
  readonly #links: TableLinks
  #segment: SegmentFile
  #journal: Journal | undefined
  #index = 0
  #segmentStartedAt = performance.now()
  #fileCheckedAt = -Infinity
  #journalCheckedAt = -Infinity
  /** What is durable. */
  #state: ChainState
  /** What was found wrong with files, and is not written yet. */
  #pendingTamperRecords: UnchainedRecord[] = []

  private constructor(options: ChainWriterOptions, recovery: Recovery, segment: SegmentFile, chain: string) {
    this.#options = options
    this.#segment = segment
    this.#links = new TableLinks(recovery.heads)
    const unsealed = new MerkleRoot()
    for (const hash of recovery.unsealed) unsealed.add(hash)
    this.#state = { position: { chain, seq: 0, prev: zeroHash }, unsealed }
    this.chain = chain
  }

  /**
   * Begins a chain after what recovery found. Its file gets its name only when its first records are durable: the
   * start, an outcome for every intent that the chain before left open, and a seal. So those are written once.
   */
  static async create(options: ChainWriterOptions, recovery: Recovery): Promise<ChainWriter> {
    const { folder } = options
    for (const file of await readdir(folder)) {
      if (file.endsWith(openingSuffix)) await unlink(join(folder, file))
    }
    const chain = createChainId(recovery.nextOrdinal)
    const path = join(folder, formatSegmentName(chain, 0))
    const segment = await SegmentFile.create(path + openingSuffix)
    const writer = new ChainWriter(options, recovery, segment, chain)
    try {
      await writer.append([...createOpeningRecords(options, recovery), createSealRequest()])
      await segment.rename(path)
      await syncFolder(folder)
      // Not before: until here, a crash recovers the chain before once more.
      await writer.#createJournal()
    } catch (error) {
      await segment.discard()
      throw error
    }
    return writer
  }

  /** The last durable record. */
  get head(): ChainEnd {
    const { chain, seq, prev } = this.#state.position
    return { chain, seq: seq - 1, hash: prev }
  }

  /** Whether records stand behind the last seal. */
  get isUnsealed(): boolean {
    return this.#state.unsealed.leaves > 0
  }

  /** The name of the file that is written. */
  get file(): string {
    return formatSegmentName(this.chain, this.#index)
  }

  /** The bytes of it that are durable. */
  get length(): number {
    return this.#segment.length
  }

  /** How many segments of this chain were ended. */
  get rotations(): number {
    return this.#index
  }

  /**
   * Appends the records as one group, with the seals that fall due; resolves with their seqs when all are durable.
   * Rejects when they are not, and then the chain is as it was before. One call at a time.
   */
  async append(records: readonly UnchainedRecord[]): Promise<number[]> {
    const before = await this.#leadingRecords(records.at(-1)?.kind === 'seal')
    const group = this.#createGroup()
    const seqs = [...before, ...records].map((record) => group.add(record))
    if (group.text === '') return seqs
    await this.#write(group)
    this.#pendingTamperRecords = []
    return seqs.slice(before.length)
  }

  async close(): Promise<void> {
    try {
      await this.#segment.checkpoint()
      await this.#journal?.remove()
    } catch {
      // The next start finds in the journal what the file may not hold.
      await this.#journal?.close()
    } finally {
      await this.#segment.close()
    }
  }

  /** What must stand before the next records: what was found wrong with the file, or the head of a new segment. */
  async #leadingRecords(isEnd: boolean): Promise<UnchainedRecord[]> {
    const { segmentBytes, segmentMs } = this.#options
    const what = await this.#findTampering(isEnd)
    if (what !== undefined) {
      const file = this.file
      const restored = what !== 'resized'
      const foreign = restored ? await this.#segment.restore() : undefined
      this.#options.onEvent?.({ what: 'tampered', file, trouble: what })
      // What was changed in place cannot be put back: it stays as evidence, and the chain goes on in a new file.
      if (!restored) await this.#rotate()
      const named = foreign === undefined ? {} : { foreign: basename(foreign) }
      this.#pendingTamperRecords.push(createRecord('tampered', { file, what, restored, ...named }))
    } else if (
      this.#segment.length >= segmentBytes ||
      (this.#segment.length > 0 && performance.now() - this.#segmentStartedAt >= segmentMs)
    ) {
      const group = this.#createGroup()
      group.add(createSealRequest())
      if (group.text !== '') await this.#write(group)
      await this.#rotate()
    }
    const isNew = this.#index > 0 && this.#segment.length === 0
    return [...(isNew ? [this.#createSegmentRecord()] : []), ...this.#pendingTamperRecords]
  }

  /** What somebody else did to the file, where it is time to look. */
  async #findTampering(isEnd: boolean): Promise<FileTampering | undefined> {
    const now = performance.now()
    const isDue = isEnd || now - this.#fileCheckedAt >= fileCheckIntervalMs
    // The file of a chain that is being opened is nobody's to see yet.
    if (this.#state.position.seq === 0 || !isDue) return undefined
    if (isEnd || now - this.#journalCheckedAt >= journalCheckIntervalMs) await this.#checkJournal()
    const what = await this.#segment.findTampering()
    if (what === undefined) this.#fileCheckedAt = now
    return what
  }

  #createGroup(): RecordGroup {
    return new RecordGroup(this.#options, this.#links, this.#state)
  }

  async #write(group: RecordGroup): Promise<void> {
    await this.#segment.append(Buffer.from(group.text))
    this.#state = { position: group.position, unsealed: group.unsealed }
    this.#links.commit(group.tableHeads)
    if (!this.isUnsealed) this.#options.onEvent?.({ what: 'sealed', head: this.head })
  }

  /** Makes the journal anew when somebody else removed or changed its file. */
  async #checkJournal(): Promise<void> {
    const what = await this.#journal?.findTampering()
    this.#journalCheckedAt = performance.now()
    if (what === undefined) return
    await this.#segment.checkpoint()
    await this.#journal?.close()
    // It may be that of a writer that took this process for dead, and must not lose it: it goes on without.
    if (what === 'replaced') this.#setJournal(undefined)
    else await this.#createJournal()
    this.#options.onEvent?.({ what: 'tampered', file: journalName, trouble: what })
    const restored = this.#journal !== undefined
    this.#pendingTamperRecords.push(createRecord('tampered', { file: journalName, what, restored }))
  }

  async #createJournal(): Promise<void> {
    const journal = await Journal.create(this.#options.folder).catch((error: unknown) => {
      this.#options.onEvent?.({ what: 'unjournaled', error })
      return undefined
    })
    this.#setJournal(journal)
  }

  #setJournal(journal: Journal | undefined): void {
    this.#journal = journal
    this.#segment.setJournal(journal)
  }

  async #rotate(): Promise<void> {
    const { folder } = this.#options
    await this.#segment.checkpoint()
    const next = await SegmentFile.create(join(folder, formatSegmentName(this.chain, this.#index + 1)))
    try {
      await syncFolder(folder)
    } catch (error) {
      await next.discard()
      throw error
    }
    const ended = this.#segment
    next.setJournal(this.#journal)
    this.#segment = next
    this.#index += 1
    this.#segmentStartedAt = performance.now()
    await ended.close()
  }

  #createSegmentRecord(): UnchainedRecord {
    return createRecord('segment', {
      unresolved: [...this.unresolved.values()],
      heads: this.#links.listHeads(),
    })
  }
}
