import { chainLine, type ChainPlace } from './chain.ts'
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

/** The lines of records that become durable together, and where the chain is then. */
export class Group {
  text = ''
  place: ChainPlace
  unsealed: string[]
  readonly heads = new Map<string, string>()
  readonly #options: SealOptions
  readonly #links: TableLinks

  constructor(options: SealOptions, links: TableLinks, place: ChainPlace, unsealed: readonly string[]) {
    this.#options = options
    this.#links = links
    this.place = place
    this.unsealed = [...unsealed]
  }

  /** Adds the record, and a seal where one falls due; answers the seq of the record. */
  add(record: LooseRecord): number {
    const { seq } = this.place
    if (record.kind === 'seal') {
      if (this.unsealed.length > 0) this.#seal()
      return seq
    }
    const hash = this.#line(record)
    this.unsealed.push(hash)
    if (this.unsealed.length >= this.#options.sealRecords) this.#seal()
    return seq
  }

  #seal(): void {
    const { key, sealRecords: within } = this.#options
    const tree = new MerkleRoot()
    for (const hash of this.unsealed) tree.add(hash)
    this.#line(looseRecord('seal', { leaves: tree.leaves, root: tree.root(), within, key: key.id }), key)
    this.unsealed = []
  }

  #line(record: LooseRecord, key?: SealKey): string {
    const tables = record.tables.map((id) => JSON.stringify(id))
    const links = this.#links.linksOf(tables, this.heads)
    const { line, hash } = chainLine(this.place, record, links, key && ((text) => key.sign(text)))
    this.text += line
    this.place = { chain: this.place.chain, seq: this.place.seq + 1, prev: hash }
    for (const table of tables) this.heads.set(table, hash)
    return hash
  }
}
