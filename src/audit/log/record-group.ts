import { formatChainLine, type ChainPosition } from '../records/hash-chain.ts'
import { idToJson } from '../records/json-text.ts'
import { MerkleRoot } from '../records/merkle.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { SealKey } from '../records/seal-key.ts'
import type { TableLinks } from './table-links.ts'

export interface SealOptions {
  readonly sealRecords: number
  readonly key: SealKey
}

/** Requests a seal at this position; ignored if there are no unsealed records. */
export function createSealRequest(): UnchainedRecord {
  return createRecord('seal', { leaves: 0, root: '', within: 0, key: '' })
}

export interface ChainState {
  readonly position: ChainPosition
  /** Tree over the records after the last seal. */
  readonly unsealed: MerkleRoot
}

/** Lines of records that become durable together, and the resulting chain state. */
export class RecordGroup {
  text = ''
  position: ChainPosition
  unsealed: MerkleRoot
  /** Hash of the last record of each table, by the table id as JSON. */
  readonly tableHeads = new Map<string, string>()
  readonly #options: SealOptions
  readonly #tableLinks: TableLinks

  constructor(options: SealOptions, links: TableLinks, { position, unsealed }: ChainState) {
    this.#options = options
    this.#tableLinks = links
    this.position = position
    this.unsealed = new MerkleRoot(unsealed)
  }

  /** Adds the record, and a seal if one is required. Returns the seq of the record. */
  add(record: UnchainedRecord): number {
    const { seq } = this.position
    if (record.kind === 'seal') {
      if (this.unsealed.leaves > 0) this.#seal()
      return seq
    }
    this.unsealed.add(this.#appendLine(record))
    if (this.unsealed.leaves >= this.#options.sealRecords) this.#seal()
    return seq
  }

  #seal(): void {
    const { key, sealRecords: within } = this.#options
    const { leaves } = this.unsealed
    this.#appendLine(createRecord('seal', { leaves, root: this.unsealed.root(), within, key: key.id }), key)
    this.unsealed = new MerkleRoot()
  }

  #appendLine(record: UnchainedRecord, key?: SealKey): string {
    const tables = record.tables.map(idToJson)
    const links = this.#tableLinks.formatLinks(tables, this.tableHeads)
    const { line, hash } = formatChainLine(this.position, record, links, key && ((text) => key.sign(text)))
    this.text += line
    this.position = { chain: this.position.chain, seq: this.position.seq + 1, prev: hash }
    for (const table of tables) this.tableHeads.set(table, hash)
    return hash
  }
}
