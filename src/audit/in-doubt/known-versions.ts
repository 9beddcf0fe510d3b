import { LRUCache } from 'lru-cache'
import { withoutReserve } from '../../lib/index.ts'
import { findOperation } from '../../catalog-api/index.ts'
import { parseFactDetails } from '../records/fact-details.ts'
import { idToJson } from '../records/json-text.ts'
import type { CreatedVersion, IntentEntry, ObjectId } from '../records/audit-record.ts'

export type ChangeFacts = Pick<IntentEntry, 'request' | 'operation' | 'id' | 'details' | 'effect' | 'objects'>

interface KnownBranch {
  newest: number
  /** Requests that created the latest versions. */
  readonly creators: Map<number, string>
}

const maxTables = 10_000
const maxBranches = 100
const maxCreators = 64

/** The newest versions of the most recently changed tables that responses have stated, with the requests that made them. */
export class KnownVersions {
  readonly #tables = new LRUCache<string, Map<string, KnownBranch>>(withoutReserve(maxTables))

  /** Adds the versions that a committed change created. */
  add(change: ChangeFacts, versions: readonly CreatedVersion[] = []): void {
    const { operation, id, details = {}, effect } = change
    const definition = findOperation(operation)
    // Afterwards, the name may refer to another table, or to none.
    if (definition?.versions === 'restart' || definition?.removesName === true)
      this.#tables.delete(idToJson(id))
    else if (definition !== undefined && effect === 'change') {
      const { branch } = parseFactDetails(definition, details).stated
      if (branch !== undefined) this.#tables.get(idToJson(id))?.delete(branch)
    }
    for (const { id: table, branch = '', version } of versions) {
      const known = this.#getBranch(table, branch)
      known.newest = Math.max(known.newest, version)
      known.creators.set(version, change.request)
      const [oldest] = known.creators.keys()
      if (known.creators.size > maxCreators && oldest !== undefined) known.creators.delete(oldest)
    }
  }

  getNewest(id: ObjectId, branch: string | undefined): number | undefined {
    return this.#tables.peek(idToJson(id))?.get(branch ?? '')?.newest
  }

  /** Returns the request that made a version; undefined if no response stated it, or if it was evicted. */
  findCreator(id: ObjectId, branch: string | undefined, version: number): string | undefined {
    return this.#tables
      .peek(idToJson(id))
      ?.get(branch ?? '')
      ?.creators.get(version)
  }

  #getBranch(id: ObjectId, branch: string): KnownBranch {
    const key = idToJson(id)
    let branches = this.#tables.get(key)
    if (branches === undefined) this.#tables.set(key, (branches = new Map()))
    let known = branches.get(branch)
    if (known === undefined) {
      if (branches.size >= maxBranches) branches.clear()
      branches.set(branch, (known = { newest: 0, creators: new Map() }))
    }
    return known
  }
}

/** Undefined for the main branch. */
export function getBranch(details: IntentEntry['details']): string | undefined {
  const branch = details?.['branch']
  return typeof branch === 'string' && branch !== '' && branch !== 'main' ? branch : undefined
}
