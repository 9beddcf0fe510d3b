import { randomBytes, timingSafeEqual } from 'node:crypto'
import { apiKeyNameSchema, type StoredKey } from './key-store-file.ts'
import { readKeyFiles, keyFilesStamp } from './read-key-files.ts'
import { assertPepper, hashSecret, parseApiKey } from './api-key-format.ts'
import type { ReportEvent } from '../identity-event.ts'
import { openLastUsedRecorder } from './last-used.ts'
import type { Principal } from '../principal.ts'
import { createVerifiedKeyCache } from './verified-key-cache.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { watchSource } from '../../lib/fs/watch-file.ts'

/** A key given as clear text, for development: any 8 to 256 printable characters without spaces. */
export interface StaticKey {
  readonly text: string
  readonly principal: string
  readonly groups: readonly string[]
}

/** A store of API keys: a file, or a folder of such files. */
export interface KeyStoreOptions {
  readonly file: string
  /** The secret that its hashes were made with, at least 32 bytes. */
  readonly pepper: Uint8Array
  /** Where the times of last use are kept; left out, they are not. */
  readonly lastUsedFile?: string | undefined
}

/** Where API keys come from. */
export interface ApiKeysOptions {
  readonly store: KeyStoreOptions | undefined
  readonly staticKey: StaticKey | undefined
  readonly reloadIntervalMs: number
  readonly lastUsedIntervalMs: number
  readonly report: ReportEvent
  /** The time in milliseconds. */
  readonly now: () => number
}

/** What an operator wants to know about the keys. */
export interface ApiKeysStatus {
  /** The keys of the store, also those that are revoked or have expired. */
  readonly keys: number
  /** Whether the store has changed since into something that cannot be read. */
  readonly isOutdated: boolean
  /**
   * When the next principal will be left without a key, in milliseconds since 1970; undefined where none will. A key
   * that has a successor leaves nobody without one.
   */
  readonly nextExpiryMs: number | undefined
}

/** The API keys in force. */
export interface ApiKeys {
  /** Who holds this key; throws AuthenticationRefused. Takes microseconds, and as long for an unknown id. */
  verify(text: string): VerifiedKey
  status(): ApiKeysStatus
  close(): Promise<void>
}

/** What an API key proved. */
interface VerifiedKey {
  readonly principal: Principal
  /** The principal of a token or a certificate that the key may be sent together with. */
  readonly subject: string | undefined
}

/** Loads the keys and follows the store; throws if it cannot be read now, keeps the last good keys later. */
export async function openApiKeys(options: ApiKeysOptions): Promise<ApiKeys> {
  const { store, now, report } = options
  const pepper = store?.pepper ?? randomBytes(32)
  assertPepper(pepper)
  const matchStaticKey = createStaticKeyMatcher(options.staticKey)
  const proven = createVerifiedKeyCache<LoadedKey>()
  let keys: LoadedKeys = new Map()
  let ends: readonly number[] = []
  let isOutdated = false

  const watched =
    store &&
    (await watchSource(
      { stamp: () => keyFilesStamp(store.file), read: () => readKeyFiles(store.file) },
      (stored) => {
        keys = new Map(stored.map((key) => [key.id, loadKey(key)]))
        proven.clear()
        ends = principalExpiryTimes(keys)
        isOutdated = false
        report({ source: 'api-keys', outcome: 'changed' })
      },
      {
        intervalMs: options.reloadIntervalMs,
        onError(cause) {
          isOutdated = true
          report({ source: 'api-keys', outcome: 'failed', cause })
        },
      },
    ))
  const lastUsed =
    store?.lastUsedFile === undefined
      ? undefined
      : openLastUsedRecorder({
          file: store.lastUsedFile,
          intervalMs: options.lastUsedIntervalMs,
          isKnown: (id) => keys.has(id),
          onError: (cause) => report({ source: 'api-keys', outcome: 'unwritten', cause }),
        })

  return {
    verify(text) {
      const development = matchStaticKey(text)
      if (development !== undefined) return development
      const nowMs = now()
      const digest = proven.digestOf(text)
      let key = proven.get(digest)
      if (key === undefined) proven.set(digest, (key = verifySecret(keys, pepper, text)))
      assertActive(key, nowMs)
      lastUsed?.record(key.principal.credentialId, nowMs)
      return key
    },
    status: () => ({ keys: keys.size, isOutdated, nextExpiryMs: ends.find((end) => end > now()) }),
    async close() {
      watched?.close()
      await lastUsed?.close()
    },
  }
}

interface LoadedKey extends VerifiedKey {
  readonly hash: Buffer
  readonly isRevoked: boolean
  /** In milliseconds. */
  readonly notBefore: number
  readonly expiresAt: number
}

type LoadedKeys = ReadonlyMap<string, LoadedKey>

// Compared with where no key has the id that was sent, so that this refusal takes as long as the others.
const placeholderHash = Buffer.alloc(32)

/** The key whose secret this is, whether or not it is in force. Throws AuthenticationRefused. */
function verifySecret(keys: LoadedKeys, pepper: Uint8Array, text: string): LoadedKey {
  const parts = parseApiKey(text)
  if (parts === undefined) throw new AuthenticationError('malformed_api_key')
  const key = keys.get(parts.id)
  const matches = timingSafeEqual(hashSecret(pepper, parts.secret), key?.hash ?? placeholderHash)
  if (key === undefined) throw new AuthenticationError('unknown_api_key')
  if (!matches) throw new AuthenticationError('wrong_api_key_secret')
  return key
}

function assertActive(key: LoadedKey, nowMs: number): void {
  if (key.isRevoked) throw new AuthenticationError('revoked_api_key')
  if (nowMs < key.notBefore) throw new AuthenticationError('api_key_not_yet_valid')
  if (nowMs >= key.expiresAt) throw new AuthenticationError('expired_api_key')
}

function loadKey(key: StoredKey): LoadedKey {
  return {
    hash: Buffer.from(key.hash, 'hex'),
    principal: createApiKeyPrincipal(key.id, key.principal, key.groups),
    // Whatever its time says: clocks differ, and nobody writes it before it is meant.
    isRevoked: key.revokedAt !== undefined,
    subject: key.subject,
    notBefore: key.notBefore === undefined ? -Infinity : Date.parse(key.notBefore),
    expiresAt: key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt),
  }
}

/** When each principal will be without a key that is not revoked, soonest first; never is left out. */
function principalExpiryTimes(keys: LoadedKeys): readonly number[] {
  const ends = new Map<string, number>()
  for (const { principal, isRevoked, expiresAt } of keys.values()) {
    if (!isRevoked) ends.set(principal.name, Math.max(expiresAt, ends.get(principal.name) ?? -Infinity))
  }
  return [...ends.values()].filter(Number.isFinite).toSorted((one, other) => one - other)
}

/** Holds no more of the static key than its hash under a pepper of this process. */
function createStaticKeyMatcher(key: StaticKey | undefined): (text: string) => VerifiedKey | undefined {
  if (key === undefined) return () => undefined
  if (!/^[!-~]{8,256}$/.test(key.text)) {
    throw new Error('the development key must have 8 to 256 printable characters and no spaces')
  }
  const pepper = randomBytes(32)
  const hash = hashSecret(pepper, key.text)
  const principal = createApiKeyPrincipal('static', apiKeyNameSchema.parse(key.principal), key.groups)
  const verified: VerifiedKey = { principal, subject: undefined }
  return (text) => (timingSafeEqual(hashSecret(pepper, text), hash) ? verified : undefined)
}

function createApiKeyPrincipal(id: string, name: string, groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: id }
}
