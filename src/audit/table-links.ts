import { LRUCache } from 'lru-cache'
import { noHash } from './chain.ts'
import type { ObjectId, TableHead, TableLink } from './records.ts'

/** So many tables are remembered; the next record of a table that was forgotten begins its history anew. */
const maximumTables = 10_000

/**
 * The last record of every table: each record names the one before of the same table, so that the history of a
 * table is a chain of its own.
 */
export class TableLinks {
  readonly #heads = new LRUCache<string, string>({ max: maximumTables })

  constructor(heads: readonly TableHead[]) {
    this.note(heads)
  }

  /** Remembers these as the last records. */
  note(heads: readonly TableHead[]): void {
    for (const { id, hash } of heads) this.#heads.set(JSON.stringify(id), hash)
  }

  /** What a record of these tables says of the records before it, after those of its own group. */
  linksOf(tables: readonly ObjectId[], group: ReadonlyMap<string, string>): TableLink[] {
    return tables.map((id) => {
      const key = JSON.stringify(id)
      return { id, prev: group.get(key) ?? this.#heads.get(key) ?? noHash }
    })
  }

  /** The group is durable. */
  commit(group: ReadonlyMap<string, string>): void {
    for (const [key, hash] of group) this.#heads.set(key, hash)
  }

  /** All of them, those that changed longest ago first. */
  heads(): TableHead[] {
    const heads: TableHead[] = []
    for (const [key, hash] of this.#heads.rentries()) {
      if (key !== undefined && hash !== undefined) heads.push({ id: JSON.parse(key) as ObjectId, hash })
    }
    return heads
  }
}
