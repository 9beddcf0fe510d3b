import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { apiKeyNameSchema, type BootstrapKeySettings } from '../../config/index.ts'
import { followFiles, withoutReserve } from '../../lib/index.ts'
import { AuthenticationError } from '../authentication-error.ts'
import type { IdentityRuntime, ReportEvent } from '../runtime.ts'
import type { Principal } from '../principal.ts'
import { assertPepper, hashSecret, parseApiKey } from './api-key-format.ts'
import { listKeyChanges, openRecordedKeys, type RecordedKeys } from './key-changes.ts'
import { computeKeyFilesStamp, listKeys, type StoredKey } from './key-store-file.ts'
import { openLastUsedRecorder } from './last-used.ts'
import { assertPepperOfKeys, describeUnusableKeys } from './pepper.ts'

/** A key known as clear text, for development or bootstrap: 8 to 256 printable characters without spaces. */
export interface StaticKey {
  readonly text: string
  readonly principal: string
  readonly groups: readonly string[]
}

/** Reads the bootstrap key; ignores surrounding white space. Rejects if it is too short to be a secret. */
export async function readBootstrapKey(settings: BootstrapKeySettings): Promise<StaticKey> {
  const { file, principal, groups } = settings
  const text = (await readFile(file, 'utf8')).trim()
  if (!/^[!-~]{32,256}$/.test(text)) {
    throw new Error(`${file}: expected a key of 32 to 256 printable characters without spaces`)
  }
  return { text, principal, groups }
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
  readonly lastUsedIntervalMs: number
}

export interface ApiKeysStatus {
  /** Number of keys in the store, including revoked and expired ones. */
  readonly keys: number
  /** Whether the current content of the store cannot be loaded. */
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

/** A key whose secret was sent, whether it is valid now or not. Times are in milliseconds since 1970. */
interface ProvenKey extends VerifiedKey {
  readonly isRevoked: boolean
  readonly notBefore: number
  readonly expiresAt: number
}

interface LoadedKeys {
  readonly all: readonly StoredKey[]
  readonly byId: ReadonlyMap<string, StoredKey>
  /** When principals lose their last key, in milliseconds since 1970, soonest first. */
  readonly expiryTimes: readonly number[]
}

/** Far more than the number of keys in use at a time. */
const maxProvenKeys = 50_000

/**
 * Throws if the store cannot be read now or the pepper fits none of its keys; retains the last valid keys if it cannot be
 * loaded later. Keys of an earlier process are never used: they may have been revoked.
 */
export async function openApiKeys(
  { store, staticKey, lastUsedIntervalMs }: ApiKeysOptions,
  { now, report, reloadIntervalMs }: Pick<IdentityRuntime, 'now' | 'report' | 'reloadIntervalMs'>,
): Promise<ApiKeys> {
  const pepper = store?.pepper ?? randomBytes(32)
  assertPepper(pepper)
  const matchStaticKey = createStaticKeyMatcher(staticKey)
  /** Verifying a key takes 6 us, a cache hit less than one. Texts are stored as digests with a salt of this process. */
  const provenKeys = new LRUCache<string, ProvenKey>(withoutReserve(maxProvenKeys))
  const salt = randomBytes(16).toString('hex')
  let isOutdated = false
  let isFirst = true
  let reporting = Promise.resolve()
  const onUnwritten = (cause: unknown): void => report({ source: 'api-keys', outcome: 'unwritten', cause })

  async function readKeys(file: string): Promise<LoadedKeys> {
    const keys = await listKeys(file)
    if (isFirst) {
      assertPepperOfKeys(pepper, keys)
      const unusable = describeUnusableKeys(pepper, keys)
      if (unusable !== undefined) report({ source: 'api-keys', outcome: 'refused-keys', cause: unusable })
      isFirst = false
    }
    return loadKeys(keys)
  }

  const recorded =
    store?.recordedFile === undefined ? undefined : openRecordedKeys(store.recordedFile, onUnwritten)
  const followed =
    store &&
    (await followFiles({
      stamp: () => computeKeyFilesStamp(store.file),
      read: () => readKeys(store.file),
      intervalMs: reloadIntervalMs,
      onChange(keys, before) {
        provenKeys.clear()
        isOutdated = false
        // In the order of the readings: the last one that is saved is what the next start compares with.
        reporting = reporting.then(async () => {
          const changes = await listKeyChanges(before.all, keys.all)
          const onRecorded = (): void => recorded?.save(keys.all)
          report({ source: 'api-keys', outcome: 'changed', changes, onRecorded })
        })
      },
      onError(cause) {
        isOutdated = true
        report({ source: 'api-keys', outcome: 'failed', cause })
      },
    }))
  const noKeys = loadKeys([])
  const getKeys = (): LoadedKeys => followed?.current ?? noKeys
  if (recorded !== undefined) await reportFoundChanges(recorded, getKeys().all, report)
  const lastUsed =
    store?.lastUsedFile === undefined
      ? undefined
      : openLastUsedRecorder({
          file: store.lastUsedFile,
          intervalMs: lastUsedIntervalMs,
          isKnown: (id) => getKeys().byId.has(id),
          onError: onUnwritten,
        })

  return {
    verify(text) {
      const matched = matchStaticKey(text)
      if (matched !== undefined) return matched
      const nowMs = now()
      const digest = hash('sha256', salt + text, 'base64')
      let key = provenKeys.get(digest)
      if (key === undefined) provenKeys.set(digest, (key = verifySecret(getKeys().byId, pepper, text)))
      assertActive(key, nowMs)
      lastUsed?.record(key.principal.credentialId, nowMs)
      return key
    },
    status: () => ({
      keys: getKeys().all.length,
      isOutdated,
      nextExpiryMs: getKeys().expiryTimes.find((end) => end > now()),
    }),
    async close() {
      followed?.close()
      await reporting
      await lastUsed?.close()
      await recorded?.close()
    },
  }
}

/** Reports what changed since changes were last recorded. The first start only saves the keys. */
async function reportFoundChanges(
  recorded: RecordedKeys,
  keys: readonly StoredKey[],
  report: ReportEvent,
): Promise<void> {
  const onRecorded = (): void => recorded.save(keys)
  try {
    const changes = await recorded.findChanges(keys)
    if (changes === undefined) return onRecorded()
    if (changes.length > 0) report({ source: 'api-keys', outcome: 'found', changes, onRecorded })
  } catch (cause) {
    report({ source: 'api-keys', outcome: 'not-compared', cause, onRecorded })
  }
}

function loadKeys(all: readonly StoredKey[]): LoadedKeys {
  const ends = new Map<string, number>()
  for (const { principal, revokedAt, expiresAt } of all) {
    if (revokedAt === undefined)
      ends.set(principal, Math.max(parseTime(expiresAt, Infinity), ends.get(principal) ?? -Infinity))
  }
  return {
    all,
    byId: new Map(all.map((key) => [key.id, key])),
    expiryTimes: [...ends.values()].filter(Number.isFinite).toSorted((one, other) => one - other),
  }
}

function parseTime(time: string | undefined, otherwise: number): number {
  return time === undefined ? otherwise : Date.parse(time)
}

// Compared if the id is unknown, so that all refusals take equally long.
const placeholderHash = '0'.repeat(64)

/** Returns the key with this secret, regardless of its validity period. Throws AuthenticationError. */
function verifySecret(keys: LoadedKeys['byId'], pepper: Uint8Array, text: string): ProvenKey {
  const parts = parseApiKey(text)
  if (parts === undefined) throw new AuthenticationError('malformed_api_key')
  const key = keys.get(parts.id)
  const stored = Buffer.from(key?.hash ?? placeholderHash, 'hex')
  const isMatch = timingSafeEqual(hashSecret(pepper, parts.secret), stored)
  if (key === undefined) throw new AuthenticationError('unknown_api_key')
  if (!isMatch) throw new AuthenticationError('wrong_api_key_secret')
  return {
    principal: createApiKeyPrincipal(parts.id, key.principal, key.groups),
    subject: key.subject,
    // Regardless of its time: clocks differ, and a revocation is never recorded in advance.
    isRevoked: key.revokedAt !== undefined,
    notBefore: parseTime(key.notBefore, -Infinity),
    expiresAt: parseTime(key.expiresAt, Infinity),
  }
}

function assertActive({ isRevoked, notBefore, expiresAt }: ProvenKey, nowMs: number): void {
  if (isRevoked) throw new AuthenticationError('revoked_api_key')
  if (nowMs < notBefore) throw new AuthenticationError('api_key_not_yet_valid')
  if (nowMs >= expiresAt) throw new AuthenticationError('expired_api_key')
}

/** Retains only a hash of the static key, with a pepper of this process. */
function createStaticKeyMatcher(key: StaticKey | undefined): (text: string) => VerifiedKey | undefined {
  if (key === undefined) return () => undefined
  if (!/^[!-~]{8,256}$/.test(key.text)) {
    throw new Error('a key as clear text must have 8 to 256 printable characters and no spaces')
  }
  const pepper = randomBytes(32)
  const digest = hashSecret(pepper, key.text)
  const principal = createApiKeyPrincipal('static', apiKeyNameSchema.parse(key.principal), key.groups)
  const verified: VerifiedKey = { principal, subject: undefined }
  return (text) => (timingSafeEqual(hashSecret(pepper, text), digest) ? verified : undefined)
}

function createApiKeyPrincipal(id: string, name: string, groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: id }
}
