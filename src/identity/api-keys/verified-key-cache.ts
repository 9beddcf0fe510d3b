import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { withoutReserve } from '../../lib/lru-bound.ts'

/** Far more than the number of keys in use at a time. */
const maxKeys = 50_000

/** Caches which texts prove which keys. Does not cover validity: that is checked for each request. */
export interface VerifiedKeyCache<Key extends object> {
  computeDigest(text: string): string
  get(digest: string): Key | undefined
  set(digest: string, key: Key): void
  /** Must be called when the keys change. */
  clear(): void
}

/** Verifying a key takes 6 us, a cache hit less than one. Texts are stored as digests with a salt of this process. */
export function createVerifiedKeyCache<Key extends object>(): VerifiedKeyCache<Key> {
  const salt = randomBytes(16).toString('hex')
  const cache = new LRUCache<string, Key>(withoutReserve(maxKeys))
  return {
    computeDigest: (text) => hash('sha256', salt + text, 'base64'),
    get: (digest) => cache.get(digest),
    set: (digest, key) => void cache.set(digest, key),
    clear: () => cache.clear(),
  }
}
