import { chainLine, type ChainPlace } from './chain.ts'
import { idText } from './json-text.ts'
import { MerkleRoot } from './merkle.ts'
import { looseRecord, type LooseRecord } from './loose-records.ts'
import type { SealKey } from './seal-key.ts'
import type { TableLinks } from './table-links.ts'

/** When and by what a chain is sealed. */
export interface SealOptions {
  /** At most so many records stand between two seals. */
  readonly sealRecords: number
  readonly key: SealKey
}

/** Asks for a seal in this place; there is none where nothing stands behind the last one. */
export function sealHere(): LooseRecord {
  return looseRecord('seal', { leaves: 0, root: '', within: 0, key: '' })
}

/** Where a chain is. */
export interface ChainState {
  readonly place: ChainPlace
  /** Over the records behind the last seal. */
  readonly unsealed: MerkleRoot
}

/** The lines of records that become durable together, and where the chain is then. */
export class Group {
  text = ''
  place: ChainPlace
  unsealed: MerkleRoot
  /** The last records of tables, by the id as JSON. */
  readonly heads = new Map<string, string>()
  readonly #options: SealOptions
  readonly #links: TableLinks

  constructor(options: SealOptions, links: TableLinks, { place, unsealed }: ChainState) {
    this.#options = options
    this.#links = links
    this.place = place
    this.unsealed = new MerkleRoot(unsealed)
  }

  /** Adds the record, and a seal where one falls due; answers the seq of the record. */
  add(record: LooseRecord): number {
    const { seq } = this.place
    if (record.kind === 'seal') {
      if (this.unsealed.leaves > 0) this.#seal()
      return seq
    }
    this.unsealed.add(this.#line(record))
    if (this.unsealed.leaves >= this.#options.sealRecords) this.#seal()
    return seq
  }

  #seal(): void {
    const { key, sealRecords: within } = this.#options
    const { leaves } = this.unsealed
    this.#line(looseRecord('seal', { leaves, root: this.unsealed.root(), within, key: key.id }), key)
    this.unsealed = new MerkleRoot()
  }

  #line(record: LooseRecord, key?: SealKey): string {
    const tables = record.tables.map(idText)
    const links = this.#links.linksOf(tables, this.heads)
    const { line, hash } = chainLine(this.place, record, links, key && ((text) => key.sign(text)))
    this.text += line
    this.place = { chain: this.place.chain, seq: this.place.seq + 1, prev: hash }
    for (const table of tables) this.heads.set(table, hash)
    return hash
  }
}
