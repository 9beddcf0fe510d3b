import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Far more than there are keys in use at a time. */
const maxKeys = 50_000

/** Which texts have proved which keys. It says nothing of whether a key is in force: that is asked each time. */
export interface VerifiedKeyCache<Key extends object> {
  /** Under which a text is remembered. */
  digestOf(text: string): string
  get(digest: string): Key | undefined
  set(digest: string, key: Key): void
  /** For when there are other keys. */
  clear(): void
}

/**
 * Remembers keys that were proven: to prove one again takes 6 us, and to find it here less than one. Texts are kept as
 * digests, which a salt of this process makes worthless elsewhere.
 */
export function createVerifiedKeyCache<Key extends object>(): VerifiedKeyCache<Key> {
  const salt = randomBytes(16).toString('hex')
  const known = new LRUCache<string, Key>({ max: maxKeys })
  return {
    digestOf: (text) => hash('sha256', salt + text, 'base64'),
    get: (digest) => known.get(digest),
    set: (digest, key) => void known.set(digest, key),
    clear: () => known.clear(),
  }
}
