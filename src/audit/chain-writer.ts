import { readdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AuditNote } from './audit-note.ts'
import { noHash } from './chain.ts'
import { Group, sealHere, type ChainState, type SealOptions } from './chain-group.ts'
import { looseRecord, type LooseRecord } from './loose-records.ts'
import { MerkleRoot } from './merkle.ts'
import type { ChainEnd, FileTrouble, OpenIntent } from './records.ts'
import { Journal, journalName } from './journal.ts'
import { openingRecords } from './opening-records.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../identity/sync-folder.ts'
import { SegmentFile } from './segment-file.ts'
import { newChainId, segmentFileName } from './segment-names.ts'
import { TableLinks } from './table-links.ts'

/** Where a chain is written, and by whom. */
export interface ChainOptions extends SealOptions {
  readonly folder: string
  /** The name of the gateway instance. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
  /** A segment that has reached so many bytes, or is so many milliseconds old, is followed by the next one. */
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly noted?: ((note: AuditNote) => void) | undefined
}

/**
 * What others did to the file is looked for at most so often, in milliseconds, and with every seal that is asked for:
 * a look takes as long as a write, and groups follow each other in less.
 */
export const lookMs = 20

/** Likewise at the journal: without it, a record is in danger only when the power is cut too. */
export const journalLookMs = 200

/** The name of a chain that is not complete enough to be one yet. */
const openingSuffix = '.opening'

/** A new chain, and the only writer of it. */
export class ChainWriter {
  readonly chain: string
  /** The intents without an outcome, by seq; kept by whoever appends. */
  readonly unresolved = new Map<number, OpenIntent>()
  readonly #options: ChainOptions
  readonly #links: TableLinks
  #segment: SegmentFile
  #journal: Journal | undefined
  #index = 0
  #begunAt = performance.now()
  #lookedAt = -Infinity
  #lookedAtJournal = -Infinity
  /** What is durable. */
  #state: ChainState
  /** What was found wrong with files, and is not written yet. */
  #tampered: LooseRecord[] = []

  private constructor(options: ChainOptions, recovery: Recovery, segment: SegmentFile, chain: string) {
    this.#options = options
    this.#segment = segment
    this.#links = new TableLinks(recovery.heads)
    const unsealed = new MerkleRoot()
    for (const hash of recovery.unsealed) unsealed.add(hash)
    this.#state = { place: { chain, seq: 0, prev: noHash }, unsealed }
    this.chain = chain
  }

  /**
   * Begins a chain after what recovery found. Its file gets its name only when its first records are durable: the
   * start, an outcome for every intent that the chain before left open, and a seal. So those are written once.
   */
  static async begin(options: ChainOptions, recovery: Recovery): Promise<ChainWriter> {
    const { folder } = options
    for (const file of await readdir(folder)) {
      if (file.endsWith(openingSuffix)) await unlink(join(folder, file))
    }
    const chain = newChainId(recovery.nextOrdinal)
    const path = join(folder, segmentFileName(chain, 0))
    const segment = await SegmentFile.create(path + openingSuffix)
    const writer = new ChainWriter(options, recovery, segment, chain)
    try {
      await writer.append([...openingRecords(options, recovery), sealHere()])
      await segment.rename(path)
      await syncFolder(folder)
      // Not before: until here, a crash recovers the chain before once more.
      await writer.#makeJournal()
    } catch (error) {
      await segment.discard()
      throw error
    }
    return writer
  }

  /** The last durable record. */
  get head(): ChainEnd {
    const { chain, seq, prev } = this.#state.place
    return { chain, seq: seq - 1, hash: prev }
  }

  /** Whether records stand behind the last seal. */
  get isUnsealed(): boolean {
    return this.#state.unsealed.leaves > 0
  }

  /** The name of the file that is written. */
  get file(): string {
    return segmentFileName(this.chain, this.#index)
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
  async append(records: readonly LooseRecord[]): Promise<number[]> {
    const before = await this.#leadingRecords(records.at(-1)?.kind === 'seal')
    const group = this.#group()
    const seqs = [...before, ...records].map((record) => group.add(record))
    if (group.text === '') return seqs
    await this.#write(group)
    this.#tampered = []
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
  async #leadingRecords(isEnd: boolean): Promise<LooseRecord[]> {
    const { segmentBytes, segmentMs } = this.#options
    const what = await this.#trouble(isEnd)
    if (what !== undefined) {
      const file = this.file
      const restored = what !== 'resized'
      const foreign = restored ? await this.#segment.restore() : undefined
      this.#options.noted?.({ what: 'tampered', file, trouble: what })
      // What was changed in place cannot be put back: it stays as evidence, and the chain goes on in a new file.
      if (!restored) await this.#rotate()
      const named = foreign === undefined ? {} : { foreign: basename(foreign) }
      this.#tampered.push(looseRecord('tampered', { file, what, restored, ...named }))
    } else if (
      this.#segment.length >= segmentBytes ||
      (this.#segment.length > 0 && performance.now() - this.#begunAt >= segmentMs)
    ) {
      const group = this.#group()
      group.add(sealHere())
      if (group.text !== '') await this.#write(group)
      await this.#rotate()
    }
    const isNew = this.#index > 0 && this.#segment.length === 0
    return [...(isNew ? [this.#segmentRecord()] : []), ...this.#tampered]
  }

  /** What somebody else did to the file, where it is time to look. */
  async #trouble(isEnd: boolean): Promise<FileTrouble | undefined> {
    const now = performance.now()
    const isDue = isEnd || now - this.#lookedAt >= lookMs
    // The file of a chain that is being opened is nobody's to see yet.
    if (this.#state.place.seq === 0 || !isDue) return undefined
    if (isEnd || now - this.#lookedAtJournal >= journalLookMs) await this.#keepJournal()
    const what = await this.#segment.trouble()
    if (what === undefined) this.#lookedAt = now
    return what
  }

  #group(): Group {
    return new Group(this.#options, this.#links, this.#state)
  }

  async #write(group: Group): Promise<void> {
    await this.#segment.append(Buffer.from(group.text))
    this.#state = { place: group.place, unsealed: group.unsealed }
    this.#links.commit(group.heads)
    if (!this.isUnsealed) this.#options.noted?.({ what: 'sealed', head: this.head })
  }

  /** Makes the journal anew when somebody else removed or changed its file. */
  async #keepJournal(): Promise<void> {
    const what = await this.#journal?.trouble()
    this.#lookedAtJournal = performance.now()
    if (what === undefined) return
    await this.#segment.checkpoint()
    await this.#journal?.close()
    // It may be that of a writer that took this process for dead, and must not lose it: it goes on without.
    if (what === 'replaced') this.#useJournal(undefined)
    else await this.#makeJournal()
    this.#options.noted?.({ what: 'tampered', file: journalName, trouble: what })
    const restored = this.#journal !== undefined
    this.#tampered.push(looseRecord('tampered', { file: journalName, what, restored }))
  }

  async #makeJournal(): Promise<void> {
    const journal = await Journal.create(this.#options.folder).catch((error: unknown) => {
      this.#options.noted?.({ what: 'unjournaled', error })
      return undefined
    })
    this.#useJournal(journal)
  }

  #useJournal(journal: Journal | undefined): void {
    this.#journal = journal
    this.#segment.useJournal(journal)
  }

  async #rotate(): Promise<void> {
    const { folder } = this.#options
    await this.#segment.checkpoint()
    const next = await SegmentFile.create(join(folder, segmentFileName(this.chain, this.#index + 1)))
    try {
      await syncFolder(folder)
    } catch (error) {
      await next.discard()
      throw error
    }
    const ended = this.#segment
    next.useJournal(this.#journal)
    this.#segment = next
    this.#index += 1
    this.#begunAt = performance.now()
    await ended.close()
  }

  #segmentRecord(): LooseRecord {
    return looseRecord('segment', {
      unresolved: [...this.unresolved.values()],
      heads: this.#links.heads(),
    })
  }
}
