import { LRUCache } from 'lru-cache'
import { zeroHash } from '../records/hash-chain.ts'
import { idToJson } from '../records/json-text.ts'
import type { ObjectId, TableHead } from '../records/audit-record.ts'

/** So many tables are remembered; the next record of a table that was forgotten begins its history anew. */
const maxTables = 10_000

/**
 * The last record of every table: each record names the one before of the same table, so that the history of a
 * table is a chain of its own.
 */
export class TableLinks {
  readonly #heads = new LRUCache<string, string>({ max: maxTables })

  constructor(heads: readonly TableHead[]) {
    this.setHeads(heads)
  }

  /** Remembers these as the last records. */
  setHeads(heads: readonly TableHead[]): void {
    for (const { id, hash } of heads) this.#heads.set(idToJson(id), hash)
  }

  /**
   * What a record of these tables says of the records before it, after those of its own group: its `tables` as JSON.
   * The key of a table is its id as JSON.
   */
  formatLinks(keys: readonly string[], group: ReadonlyMap<string, string>): string {
    if (keys.length === 0) return ''
    const links = keys.map((key) => {
      const prev = group.get(key) ?? this.#heads.get(key) ?? zeroHash
      return `{"id":${key},"prev":"${prev}"}`
    })
    return `[${links.join(',')}]`
  }

  /** The group is durable. */
  commit(group: ReadonlyMap<string, string>): void {
    for (const [key, hash] of group) this.#heads.set(key, hash)
  }

  /** All of them, those that changed longest ago first. */
  listHeads(): TableHead[] {
    const heads: TableHead[] = []
    for (const [key, hash] of this.#heads.rentries()) {
      if (key !== undefined && hash !== undefined) heads.push({ id: JSON.parse(key) as ObjectId, hash })
    }
    return heads
  }
}
