import { LRUCache } from 'lru-cache'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { zeroHash } from '../records/hash-chain.ts'
import { idToJson } from '../records/json-text.ts'
import type { TableHead } from '../records/audit-record.ts'

/** Number of retained tables; the next record of an evicted table starts a new history. */
const maxTables = 10_000

/** The last record of each table. Each record refers to the previous one, so the history of a table is a chain. */
export class TableLinks {
  readonly #heads = new LRUCache<string, string>({ max: maxTables })

  constructor(heads: readonly TableHead[]) {
    this.setHeads(heads)
  }

  setHeads(heads: readonly TableHead[]): void {
    for (const { id, hash } of heads) this.#heads.set(idToJson(id), hash)
  }

  /** Formats the member `tables`: the previous record of each table. `keys` are table ids as JSON. */
  formatLinks(keys: readonly string[], group: ReadonlyMap<string, string>): string {
    if (keys.length === 0) return ''
    const links = keys.map((key) => {
      const prev = group.get(key) ?? this.#heads.get(key) ?? zeroHash
      return `{"id":${key},"prev":"${prev}"}`
    })
    return `[${links.join(',')}]`
  }

  commit(group: ReadonlyMap<string, string>): void {
    for (const [key, hash] of group) this.#heads.set(key, hash)
  }

  /** Lists all heads, least recently changed first. */
  listHeads(): TableHead[] {
    const heads: TableHead[] = []
    for (const [key, hash] of this.#heads.rentries()) {
      if (key === undefined || hash === undefined) continue
      const id: unknown = JSON.parse(key)
      if (!isListOfStrings(id)) throw new Error('the id of a table in the audit log is not a list of strings')
      heads.push({ id, hash })
    }
    return heads
  }
}
