import { randomBytes, timingSafeEqual } from 'node:crypto'
import { apiKeyNameSchema } from '../../config/identity/api-key-name.ts'
import { listKeyChanges, type ComparableKey } from './key-changes.ts'
import type { StoredKey } from './stored-key.ts'
import { readKeyFiles, readUsableKeys, computeKeyFilesStamp } from './read-key-files.ts'
import { assertPepper, hashSecret, parseApiKey } from './api-key-format.ts'
import type { ReportEvent } from '../identity-event.ts'
import { openLastUsedRecorder } from './last-used.ts'
import { openRecordedKeys, withoutHashes, type RecordedKeys } from './recorded-keys.ts'
import type { Principal } from '../principal.ts'
import { createVerifiedKeyCache } from './verified-key-cache.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { followFiles } from '../../lib/fs/follow-files.ts'

/** A key known as clear text, for development or bootstrap: 8 to 256 printable characters without spaces. */
export interface StaticKey {
  readonly text: string
  readonly principal: string
  readonly groups: readonly string[]
}

export interface KeyStoreOptions {
  readonly file: string
  /** Secret of the hashes, at least 32 bytes. */
  readonly pepper: Uint8Array
  /** Path of the last-used times; if absent, they are not persisted. */
  readonly lastUsedFile?: string | undefined
  /** Path of the keys whose changes were recorded; if absent, a start reports no changes. */
  readonly recordedFile?: string | undefined
}

export interface ApiKeysOptions {
  readonly store: KeyStoreOptions | undefined
  readonly staticKey: StaticKey | undefined
  readonly reloadIntervalMs: number
  readonly lastUsedIntervalMs: number
  readonly report: ReportEvent
  /** Current time in milliseconds. */
  readonly now: () => number
}

export interface ApiKeysStatus {
  /** Number of keys in the store, including revoked and expired ones. */
  readonly keys: number
  /** Whether the current content of the store cannot be loaded, or only its valid entries. */
  readonly isOutdated: boolean
  /** When the next principal will have no valid key, in milliseconds since 1970; undefined if none will. */
  readonly nextExpiryMs: number | undefined
}

export interface ApiKeys {
  /** Throws AuthenticationError. Takes microseconds, and equally long for an unknown id. */
  verify(text: string): VerifiedKey
  status(): ApiKeysStatus
  close(): Promise<void>
}

interface VerifiedKey {
  readonly principal: Principal
  /** Principal of a token or a certificate that may be combined with the key. */
  readonly subject: string | undefined
}

/**
 * Throws if the store cannot be read now, and leaves out its invalid entries; retains the last valid keys if it cannot be
 * loaded later. Keys of an earlier process are never used: they may have been revoked.
 */
export async function openApiKeys(options: ApiKeysOptions): Promise<ApiKeys> {
  const { store, now, report } = options
  const pepper = store?.pepper ?? randomBytes(32)
  assertPepper(pepper)
  const matchStaticKey = createStaticKeyMatcher(options.staticKey)
  const verifiedKeys = createVerifiedKeyCache<LoadedKey>()
  let isOutdated = false
  let isFirst = true

  /** A start with one invalid entry has the other keys. Later the last keys are better: all of them were valid. */
  async function readKeys(file: string): Promise<LoadedKeys> {
    if (!isFirst) return loadKeys(await readKeyFiles(file))
    isFirst = false
    const { keys, problems } = await readUsableKeys(file)
    isOutdated = problems.length > 0
    if (isOutdated) report({ source: 'api-keys', outcome: 'refused-keys', cause: problems.join('\n') })
    return loadKeys(keys)
  }

  const recorded =
    store?.recordedFile === undefined
      ? undefined
      : openRecordedKeys(store.recordedFile, (cause) =>
          report({ source: 'api-keys', outcome: 'unwritten', cause }),
        )
  const followed =
    store &&
    (await followFiles({
      stamp: () => computeKeyFilesStamp(store.file),
      read: () => readKeys(store.file),
      intervalMs: options.reloadIntervalMs,
      onChange(keys, before) {
        verifiedKeys.clear()
        isOutdated = false
        report({
          source: 'api-keys',
          outcome: 'changed',
          changes: listKeyChanges(before.byId, keys.byId),
          onRecorded: () => recorded?.save(keys.stored),
        })
      },
      onError(cause) {
        isOutdated = true
        report({ source: 'api-keys', outcome: 'failed', cause })
      },
    }))
  const getKeys = (): LoadedKeys => followed?.current ?? noKeys
  if (recorded !== undefined) await reportFoundChanges(recorded, getKeys().stored, report)
  const lastUsed =
    store?.lastUsedFile === undefined
      ? undefined
      : openLastUsedRecorder({
          file: store.lastUsedFile,
          intervalMs: options.lastUsedIntervalMs,
          isKnown: (id) => getKeys().byId.has(id),
          onError: (cause) => report({ source: 'api-keys', outcome: 'unwritten', cause }),
        })

  return {
    verify(text) {
      const staticKey = matchStaticKey(text)
      if (staticKey !== undefined) return staticKey
      const nowMs = now()
      const digest = verifiedKeys.computeDigest(text)
      let key = verifiedKeys.get(digest)
      if (key === undefined) verifiedKeys.set(digest, (key = verifySecret(getKeys().byId, pepper, text)))
      assertActive(key, nowMs)
      lastUsed?.record(key.principal.credentialId, nowMs)
      return key
    },
    status: () => ({
      keys: getKeys().byId.size,
      isOutdated,
      nextExpiryMs: getKeys().expiryTimes.find((end) => end > now()),
    }),
    async close() {
      followed?.close()
      await lastUsed?.close()
      await recorded?.close()
    },
  }
}

/** Reports what changed since changes were last recorded. The first start only saves the keys. */
async function reportFoundChanges(
  recorded: RecordedKeys,
  stored: readonly StoredKey[],
  report: ReportEvent,
): Promise<void> {
  const onRecorded = (): void => recorded.save(stored)
  try {
    const before = await recorded.read()
    if (before === undefined) return onRecorded()
    const changes = listKeyChanges(loadKeys(before).byId, loadKeys(withoutHashes(stored)).byId)
    if (changes.length > 0) report({ source: 'api-keys', outcome: 'found', changes, onRecorded })
  } catch (cause) {
    report({ source: 'api-keys', outcome: 'not-compared', cause, onRecorded })
  }
}

/** Times are in milliseconds since 1970. */
interface LoadedKey extends VerifiedKey, Omit<ComparableKey, keyof VerifiedKey> {}

interface LoadedKeys {
  readonly stored: readonly StoredKey[]
  readonly byId: ReadonlyMap<string, LoadedKey>
  /** When principals lose their last key, in milliseconds since 1970, soonest first. */
  readonly expiryTimes: readonly number[]
}

const noKeys: LoadedKeys = { stored: [], byId: new Map(), expiryTimes: [] }

// Compared if the id is unknown, so that all refusals take equally long.
const placeholderHash = Buffer.alloc(32)

/** Returns the key with this secret, regardless of its validity period. Throws AuthenticationError. */
function verifySecret(keys: LoadedKeys['byId'], pepper: Uint8Array, text: string): LoadedKey {
  const parts = parseApiKey(text)
  if (parts === undefined) throw new AuthenticationError('malformed_api_key')
  const key = keys.get(parts.id)
  const isMatch = timingSafeEqual(hashSecret(pepper, parts.secret), key?.hash ?? placeholderHash)
  if (key === undefined) throw new AuthenticationError('unknown_api_key')
  if (!isMatch) throw new AuthenticationError('wrong_api_key_secret')
  return key
}

function assertActive(key: LoadedKey, nowMs: number): void {
  if (key.isRevoked) throw new AuthenticationError('revoked_api_key')
  if (nowMs < key.notBefore) throw new AuthenticationError('api_key_not_yet_valid')
  if (nowMs >= key.expiresAt) throw new AuthenticationError('expired_api_key')
}

function loadKeys(stored: readonly StoredKey[]): LoadedKeys {
  const byId = new Map(stored.map((key) => [key.id, loadKey(key)]))
  return { stored, byId, expiryTimes: listPrincipalExpiryTimes(byId) }
}

function loadKey(key: StoredKey): LoadedKey {
  return {
    hash: Buffer.from(key.hash, 'hex'),
    principal: createApiKeyPrincipal(key.id, key.principal, key.groups),
    // Regardless of its time: clocks differ, and a revocation is never recorded in advance.
    isRevoked: key.revokedAt !== undefined,
    subject: key.subject,
    notBefore: key.notBefore === undefined ? -Infinity : Date.parse(key.notBefore),
    expiresAt: key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt),
    createdBy: key.createdBy,
    revokedBy: key.revokedBy,
    replaces: key.replaces,
  }
}

/** Soonest first; omits principals that always have a valid key. */
function listPrincipalExpiryTimes(keys: LoadedKeys['byId']): readonly number[] {
  const expiryTimes = new Map<string, number>()
  for (const { principal, isRevoked, expiresAt } of keys.values()) {
    if (!isRevoked)
      expiryTimes.set(principal.name, Math.max(expiresAt, expiryTimes.get(principal.name) ?? -Infinity))
  }
  return [...expiryTimes.values()].filter(Number.isFinite).toSorted((one, other) => one - other)
}

/** Retains only a hash of the static key, with a pepper of this process. */
function createStaticKeyMatcher(key: StaticKey | undefined): (text: string) => VerifiedKey | undefined {
  if (key === undefined) return () => undefined
  if (!/^[!-~]{8,256}$/.test(key.text)) {
    throw new Error('a key as clear text must have 8 to 256 printable characters and no spaces')
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
