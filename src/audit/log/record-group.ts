import { formatChainLine, type ChainPosition } from '../records/hash-chain.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { SealKey } from '../records/seal-key.ts'

export interface SealOptions {
  readonly sealRecords: number
  readonly key: SealKey
}

/** Requests a seal at this position; ignored if there are no unsealed records. */
export function createSealRequest(time?: string): UnchainedRecord {
  return createRecord('seal', { leaves: 0, within: 0, key: '' }, [], time)
}

export interface ChainState {
  readonly position: ChainPosition
  /** Number of records after the last seal. */
  readonly unsealed: number
}

/** Lines of records that become durable together, and the resulting chain state. */
export class RecordGroup {
  text = ''
  position: ChainPosition
  unsealed: number
  readonly #options: SealOptions

  constructor(options: SealOptions, { position, unsealed }: ChainState) {
    this.#options = options
    this.position = position
    this.unsealed = unsealed
  }

  /** Adds the record, and a seal if one is required. Returns the seq of the record. */
  add(record: UnchainedRecord): number {
    const { seq } = this.position
    if (record.kind === 'seal') {
      if (this.unsealed > 0) this.#seal(record.time)
      return seq
    }
    this.#appendLine(record)
    this.unsealed += 1
    if (this.unsealed >= this.#options.sealRecords) this.#seal(record.time)
    return seq
  }

  #seal(time: string): void {
    const { key, sealRecords: within } = this.#options
    this.#appendLine(createRecord('seal', { leaves: this.unsealed, within, key: key.id }, [], time))
    this.unsealed = 0
  }

  #appendLine(record: UnchainedRecord): void {
    const { line, hash } = formatChainLine(this.position, record, this.#options.key)
    this.text += line
    this.position = { chain: this.position.chain, seq: this.position.seq + 1, prev: hash }
  }
}
