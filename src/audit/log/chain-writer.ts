import { readdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beginChain, formatChainLine } from '../records/hash-chain.ts'
import type { SealKey } from '../records/seal-key.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { ChainEnd, FileTampering, IntentReference } from '../records/audit-record.ts'
import type { AuditObserver } from './group-commit.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../../lib/index.ts'
import { SegmentFile } from './segment-file.ts'
import { createChainId, formatSegmentName } from '../storage/log-segments.ts'

interface ChainWriterOptions {
  readonly sealRecords: number
  readonly key: SealKey
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** A segment is rotated when it reaches this size or `segmentMs`. */
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly observer: Partial<AuditObserver>
}

/** Minimum interval of tampering checks; seals also check. A check takes as long as a write, groups come more often. */
export const fileCheckIntervalMs = 20

/** File name suffix of a chain whose first records are not durable yet. */
const openingSuffix = '.opening'

export class ChainWriter {
  readonly chain: string
  /** Intents without an outcome, by seq. Maintained by the caller of `append`. */
  readonly unresolved = new Map<number, IntentReference>()
  readonly #options: ChainWriterOptions
  #segment: SegmentFile
  #index = 0
  #segmentStartedAt = performance.now()
  #fileCheckedAt = -Infinity
  /** State of the durable part. */
  #state: ChainState
  #pendingTamperRecords: UnchainedRecord[] = []

  private constructor(options: ChainWriterOptions, recovery: Recovery, segment: SegmentFile, chain: string) {
    this.#options = options
    this.#segment = segment
    this.#state = { head: beginChain(chain), unsealed: recovery.unsealed }
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
    } catch (error) {
      await segment.discard()
      throw error
    }
    return writer
  }

  get head(): ChainEnd {
    return this.#state.head
  }

  get isUnsealed(): boolean {
    return this.#state.unsealed > 0
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
    const [first, last] = [records[0], records.at(-1)]
    const leading = await this.#createLeadingRecords(last?.kind === 'seal', first?.time)
    const seqs = await this.#write([...leading, ...records])
    this.#pendingTamperRecords = []
    return seqs.slice(leading.length)
  }

  async close(): Promise<void> {
    // What a failed write has left, the next start cuts.
    await this.#segment.cutLeftover().catch(() => undefined)
    await this.#segment.close()
  }

  /** Records that precede the next group: detected tampering, or the head of a new segment. */
  async #createLeadingRecords(isEnd: boolean, time: string | undefined): Promise<UnchainedRecord[]> {
    const { segmentBytes, segmentMs } = this.#options
    const tampering = await this.#findTampering(isEnd)
    if (tampering !== undefined) {
      const file = this.file
      const isRestored = tampering !== 'resized'
      const foreign = isRestored ? await this.#segment.restore() : undefined
      this.#options.observer.tampered?.(file, tampering)
      // A file changed in place cannot be restored: it is retained as evidence, and the chain continues in a new file.
      if (!isRestored) await this.#rotate()
      const named = foreign === undefined ? {} : { foreign: basename(foreign) }
      this.#pendingTamperRecords.push(
        createRecord('tampered', { file, what: tampering, restored: isRestored, ...named }, [], time),
      )
    } else if (
      this.#segment.length >= segmentBytes ||
      (this.#segment.length > 0 && performance.now() - this.#segmentStartedAt >= segmentMs)
    ) {
      await this.#write([createSealRequest(time)])
      await this.#rotate()
    }
    const isNew = this.#index > 0 && this.#segment.length === 0
    const unresolved = [...this.unresolved.values()].map(pickOpenIntent)
    const opening = isNew ? [createRecord('segment', { unresolved }, [], time)] : []
    return [...opening, ...this.#pendingTamperRecords]
  }

  async #findTampering(isEnd: boolean): Promise<FileTampering | undefined> {
    const now = performance.now()
    const isDue = isEnd || now - this.#fileCheckedAt >= fileCheckIntervalMs
    // The file of an opening chain is not visible under its final name yet.
    if (this.head.seq < 0 || !isDue) return undefined
    const tampering = await this.#segment.findTampering()
    if (tampering === undefined) this.#fileCheckedAt = now
    return tampering
  }

  /** Writes records and the seals that are due; not the requested ones if there is nothing to seal. */
  async #write(records: readonly UnchainedRecord[]): Promise<number[]> {
    const { key, sealRecords } = this.#options
    let { head, unsealed } = this.#state
    let text = ''
    const appendLine = (record: UnchainedRecord): void => {
      const { line, end } = formatChainLine(head, record, key)
      text += line
      head = end
    }
    const seqs = records.map((record) => {
      const seq = head.seq + 1
      const isRequest = record.kind === 'seal'
      if (!isRequest) {
        appendLine(record)
        unsealed += 1
      }
      if (isRequest ? unsealed > 0 : unsealed >= sealRecords) {
        const seal = { leaves: unsealed, within: sealRecords, key: key.id }
        appendLine(createRecord('seal', seal, [], record.time))
        unsealed = 0
      }
      return seq
    })
    if (text !== '') await this.#segment.append(Buffer.from(text))
    this.#state = { head, unsealed }
    return seqs
  }

  async #rotate(): Promise<void> {
    const { folder } = this.#options
    await this.#segment.cutLeftover()
    const next = await SegmentFile.create(join(folder, formatSegmentName(this.chain, this.#index + 1)))
    try {
      await syncFolder(folder)
    } catch (error) {
      await next.discard()
      throw error
    }
    const ended = this.#segment
    this.#segment = next
    this.#index += 1
    this.#segmentStartedAt = performance.now()
    await ended.close()
  }
}

function pickOpenIntent({ seq, request, tables }: IntentReference): Omit<IntentReference, 'chain'> {
  return { seq, request, tables }
}

function createOpeningRecords(
  { gateway, software }: ChainWriterOptions,
  { previous, unresolved, repairs, foreign }: Recovery,
): UnchainedRecord[] {
  return [
    createRecord('start', { gateway, software, ...(previous && { previous }) }),
    // Seals here, so that the limit announced by the previous seal holds even if the settings of this gateway differ.
    createSealRequest(),
    ...repairs.map((repair) => createRecord('recovered', repair)),
    ...foreign.map((body) => createRecord('tampered', body)),
    ...unresolved.map(({ chain: intentChain, seq: intentSeq, request, tables }) => {
      const details = { reason: 'crash' }
      return createRecord('outcome', { request, intentSeq, intentChain, result: 'unknown', details }, tables)
    }),
  ]
}

/** Requests a seal at this position; ignored if there are no unsealed records. */
export function createSealRequest(time?: string): UnchainedRecord {
  return createRecord('seal', { leaves: 0, within: 0, key: '' }, [], time)
}

interface ChainState {
  readonly head: ChainEnd
  /** Number of records after the last seal. */
  readonly unsealed: number
}
