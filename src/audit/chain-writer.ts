import { readdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { chainLine, noHash, type ChainPlace } from './chain.ts'
import { looseRecord, type LooseRecord } from './records.ts'
import type { Recovery } from './recovery.ts'
import { SegmentFile, syncFolder } from './segment-file.ts'
import { newChainId, segmentFileName } from './segment-names.ts'

/** Where a chain is written, and by whom. */
export interface ChainOptions {
  readonly folder: string
  /** The name of the gateway instance. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
  /** A segment that has reached so many bytes is followed by the next one. */
  readonly segmentBytes: number
}

/** The name of a chain that is not complete enough to be one yet. */
const openingSuffix = '.opening'

/** A new chain, and the only writer of it. */
export class ChainWriter {
  readonly chain: string
  /** The intents without an outcome, by seq, with their request ids; kept by whoever appends. */
  readonly unresolved = new Map<number, string>()
  readonly #options: ChainOptions
  #segment: SegmentFile
  #index = 0
  #place: ChainPlace

  private constructor(options: ChainOptions, segment: SegmentFile, place: ChainPlace) {
    this.#options = options
    this.#segment = segment
    this.#place = place
    this.chain = place.chain
  }

  /**
   * Begins a chain after what recovery found. Its file gets its name only when its first records are durable:
   * the start, and an outcome for every intent that the chain before left open. So those are written once.
   */
  static async begin(options: ChainOptions, recovery: Recovery): Promise<ChainWriter> {
    const { folder } = options
    for (const file of await readdir(folder)) {
      if (file.endsWith(openingSuffix)) await unlink(join(folder, file))
    }
    const chain = newChainId(recovery.nextOrdinal)
    const path = join(folder, segmentFileName(chain, 0))
    const segment = await SegmentFile.create(path + openingSuffix)
    const writer = new ChainWriter(options, segment, { chain, seq: 0, prev: noHash })
    try {
      await writer.append(openingRecords(options, recovery))
      await rename(path + openingSuffix, path)
      await syncFolder(folder)
    } catch (error) {
      await segment.close()
      throw error
    }
    return writer
  }

  /**
   * Appends the records as one group; resolves with the seq of the first of them when all are durable.
   * Rejects when they are not, and then the chain is as it was before. One call at a time.
   */
  async append(records: readonly LooseRecord[]): Promise<number> {
    if (this.#segment.length >= this.#options.segmentBytes) await this.#rotate()
    const header = this.#index > 0 && this.#segment.length === 0 ? [this.#segmentRecord()] : []
    let place = this.#place
    let text = ''
    for (const record of [...header, ...records]) {
      const { line, hash } = chainLine(place, record)
      text += line
      place = { chain: place.chain, seq: place.seq + 1, prev: hash }
    }
    await this.#segment.append(Buffer.from(text))
    this.#place = place
    return place.seq - records.length
  }

  close(): Promise<void> {
    return this.#segment.close()
  }

  async #rotate(): Promise<void> {
    const { folder } = this.#options
    const next = await SegmentFile.create(join(folder, segmentFileName(this.chain, this.#index + 1)))
    try {
      await syncFolder(folder)
    } catch (error) {
      await next.close()
      throw error
    }
    const ended = this.#segment
    this.#segment = next
    this.#index += 1
    await ended.close()
  }

  #segmentRecord(): LooseRecord {
    const unresolved = [...this.unresolved].map(([seq, request]) => ({ seq, request }))
    return looseRecord('segment', { unresolved })
  }
}

function openingRecords({ gateway, software }: ChainOptions, recovery: Recovery): LooseRecord[] {
  const { previous, unresolved, repair } = recovery
  return [
    looseRecord('start', { gateway, software, ...(previous && { previous }) }),
    ...(repair ? [looseRecord('recovered', repair)] : []),
    ...unresolved.map(({ seq, request }) =>
      looseRecord('outcome', {
        request,
        intentSeq: seq,
        ...(previous && { intentChain: previous.chain }),
        result: 'unknown',
        details: { reason: 'crash' },
      }),
    ),
  ]
}
