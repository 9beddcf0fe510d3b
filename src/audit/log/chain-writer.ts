import { readdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AuditLogEvent } from './audit-log-event.ts'
import { zeroHash } from '../records/hash-chain.ts'
import { RecordGroup, createSealRequest, type ChainState, type SealOptions } from './record-group.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import { MerkleRoot } from '../records/merkle.ts'
import type { ChainEnd, FileTampering, OpenIntent } from '../records/audit-record.ts'
import { Journal, journalName } from '../storage/write-ahead-journal.ts'
import { createOpeningRecords } from './opening-records.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import { SegmentFile } from './segment-file.ts'
import { createChainId, formatSegmentName } from '../storage/segment-names.ts'
import { TableLinks } from './table-links.ts'

export interface ChainWriterOptions extends SealOptions {
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** A segment is rotated when it reaches this size or `segmentMs`. */
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly onEvent?: ((event: AuditLogEvent) => void) | undefined
}

/** Minimum interval of tampering checks; seals also check. A check takes as long as a write, groups come more often. */
export const fileCheckIntervalMs = 20

/** A lost journal endangers records only if a power failure follows, so it is checked less often. */
export const journalCheckIntervalMs = 200

/** File name suffix of a chain whose first records are not durable yet. */
const openingSuffix = '.opening'

export class ChainWriter {
  readonly chain: string
  /** Intents without an outcome, by seq. Maintained by the caller of `append`. */
  readonly unresolved = new Map<number, OpenIntent>()
  /** Revision of the policy files in force, while last good policies are kept. Maintained like `unresolved`. */
  policyFiles: string | undefined
  readonly #options: ChainWriterOptions
  readonly #links: TableLinks
  #segment: SegmentFile
  #journal: Journal | undefined
  #index = 0
  #segmentStartedAt = performance.now()
  #fileCheckedAt = -Infinity
  #journalCheckedAt = -Infinity
  /** State of the durable part. */
  #state: ChainState
  #pendingTamperRecords: UnchainedRecord[] = []

  private constructor(options: ChainWriterOptions, recovery: Recovery, segment: SegmentFile, chain: string) {
    this.#options = options
    this.#segment = segment
    this.#links = new TableLinks(recovery.heads)
    this.policyFiles = recovery.policyFiles
    const unsealed = new MerkleRoot()
    for (const hash of recovery.unsealed) unsealed.add(hash)
    this.#state = { position: { chain, seq: 0, prev: zeroHash }, unsealed }
    this.chain = chain
  }

  /**
   * Starts a chain after recovery. The file gets its final name only when its first records are durable: the start, an
   * outcome for each unresolved intent of the previous chain, and a seal. So they are written exactly once.
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
      // Not earlier: until here, a crash must recover the previous chain from the journal again.
      await writer.#createJournal()
    } catch (error) {
      await segment.discard()
      throw error
    }
    return writer
  }

  get head(): ChainEnd {
    const { chain, seq, prev } = this.#state.position
    return { chain, seq: seq - 1, hash: prev }
  }

  get isUnsealed(): boolean {
    return this.#state.unsealed.leaves > 0
  }

  get file(): string {
    return formatSegmentName(this.chain, this.#index)
  }

  /** Durable bytes of the active segment. */
  get length(): number {
    return this.#segment.length
  }

  get rotations(): number {
    return this.#index
  }

  /** Makes records and due seals durable as one group, or changes nothing. Returns the seqs. Calls must not overlap. */
  async append(records: readonly UnchainedRecord[]): Promise<number[]> {
    const leading = await this.#createLeadingRecords(records.at(-1)?.kind === 'seal')
    const group = this.#createGroup()
    const seqs = [...leading, ...records].map((record) => group.add(record))
    if (group.text === '') return seqs
    await this.#write(group)
    this.#pendingTamperRecords = []
    return seqs.slice(leading.length)
  }

  async close(): Promise<void> {
    try {
      await this.#segment.checkpoint()
      await this.#journal?.remove()
    } catch {
      // The journal may hold data that the file does not; the next start recovers it.
      await this.#journal?.close()
    } finally {
      await this.#segment.close()
    }
  }

  /** Records that precede the next group: detected tampering, or the head of a new segment. */
  async #createLeadingRecords(isEnd: boolean): Promise<UnchainedRecord[]> {
    const { segmentBytes, segmentMs } = this.#options
    const tampering = await this.#findTampering(isEnd)
    if (tampering !== undefined) {
      const file = this.file
      const isRestored = tampering !== 'resized'
      const foreign = isRestored ? await this.#segment.restore() : undefined
      this.#options.onEvent?.({ kind: 'tampered', file, tampering })
      // A file changed in place cannot be restored: it is retained as evidence, and the chain continues in a new file.
      if (!isRestored) await this.#rotate()
      const named = foreign === undefined ? {} : { foreign: basename(foreign) }
      this.#pendingTamperRecords.push(
        createRecord('tampered', { file, what: tampering, restored: isRestored, ...named }),
      )
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
    return [...(isNew ? this.#createSegmentRecords() : []), ...this.#pendingTamperRecords]
  }

  async #findTampering(isEnd: boolean): Promise<FileTampering | undefined> {
    const now = performance.now()
    const isDue = isEnd || now - this.#fileCheckedAt >= fileCheckIntervalMs
    // The file of an opening chain is not visible under its final name yet.
    if (this.#state.position.seq === 0 || !isDue) return undefined
    if (isEnd || now - this.#journalCheckedAt >= journalCheckIntervalMs) await this.#checkJournal()
    const tampering = await this.#segment.findTampering()
    if (tampering === undefined) this.#fileCheckedAt = now
    return tampering
  }

  #createGroup(): RecordGroup {
    return new RecordGroup(this.#options, this.#links, this.#state)
  }

  async #write(group: RecordGroup): Promise<void> {
    await this.#segment.append(Buffer.from(group.text))
    this.#state = { position: group.position, unsealed: group.unsealed }
    this.#links.commit(group.tableHeads)
    if (!this.isUnsealed) this.#options.onEvent?.({ kind: 'sealed', head: this.head })
  }

  async #checkJournal(): Promise<void> {
    const tampering = await this.#journal?.findTampering()
    this.#journalCheckedAt = performance.now()
    if (tampering === undefined) return
    await this.#segment.checkpoint()
    await this.#journal?.close()
    // The file may belong to a writer that took over the lock, and must not be overwritten: continue without a journal.
    if (tampering === 'replaced') this.#setJournal(undefined)
    else await this.#createJournal()
    this.#options.onEvent?.({ kind: 'tampered', file: journalName, tampering })
    const isRestored = this.#journal !== undefined
    this.#pendingTamperRecords.push(
      createRecord('tampered', { file: journalName, what: tampering, restored: isRestored }),
    )
  }

  async #createJournal(): Promise<void> {
    const journal = await Journal.create(this.#options.folder).catch((error: unknown) => {
      this.#options.onEvent?.({ kind: 'journal_unavailable', error })
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

  #createSegmentRecords(): UnchainedRecord[] {
    const { policyFiles } = this
    const segment = createRecord('segment', {
      unresolved: [...this.unresolved.values()],
      heads: this.#links.listHeads(),
      ...(policyFiles !== undefined && { policyFiles }),
    })
    // An unsealed statement proves nothing.
    return policyFiles === undefined ? [segment] : [segment, createSealRequest()]
  }
}
