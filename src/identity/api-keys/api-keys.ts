import { randomBytes, timingSafeEqual } from 'node:crypto'
import { assertPepperOfKeys, describeUnusableKeys } from './pepper.ts'
import { apiKeyNameSchema } from '../../config/identity/api-key-name.ts'
import { listKeyChanges, type ComparableKey } from './key-changes.ts'
import type { StoredKey } from './stored-key.ts'
import { readKeyFiles, readUsableKeys, computeKeyFilesStamp } from './read-key-files.ts'
import { assertPepper, hashSecret, parseApiKey } from './api-key-format.ts'
import type { ReportEvent } from '../identity-event.ts'
import { openLastUsedRecorder } from './last-used.ts'
import { openRecordedKeys, withoutHash, type RecordedKeys } from './recorded-keys.ts'
import { listPrincipalExpiryTimes } from './principal-expiry-times.ts'
import type { Principal } from '../principal.ts'
import { createVerifiedKeyCache } from './verified-key-cache.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
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
 * Throws if the store cannot be read now or the pepper fits none of its keys, and leaves out its invalid entries; retains
 * the last valid keys if it cannot be loaded later. Keys of an earlier process are never used: they may have been revoked.
 */
export async function openApiKeys(options: ApiKeysOptions): Promise<ApiKeys> {
  const { store, now, report } = options
  const pepper = store?.pepper ?? randomBytes(32)
  assertPepper(pepper)
  const matchStaticKey = createStaticKeyMatcher(options.staticKey)
  const verifiedKeys = createVerifiedKeyCache<ProvenKey>()
  let isOutdated = false
  let isFirst = true
  /** The keys that were read last, until they are compared and recorded: those in force are retained in another form. */
  let unrecorded: readonly StoredKey[] = []
  let reporting = Promise.resolve()

  /** A start with one invalid entry has the other keys. Later the last keys are better: all of them were valid. */
  async function readKeys(file: string): Promise<LoadedKeys> {
    if (!isFirst) return load(await readKeyFiles(file))
    isFirst = false
    const { keys, problems } = await readUsableKeys(file)
    assertPepperOfKeys(pepper, keys)
    isOutdated = problems.length > 0
    const refused = [...problems, describeUnusableKeys(pepper, keys) ?? []].flat()
    if (refused.length > 0) report({ source: 'api-keys', outcome: 'refused-keys', cause: refused.join('\n') })
    return load(keys)
  }

  async function load(stored: readonly StoredKey[]): Promise<LoadedKeys> {
    const keys = await runInSlices(loadKeys(stored))
    unrecorded = stored
    return keys
  }

  function takeUnrecorded(): readonly StoredKey[] {
    const stored = unrecorded
    unrecorded = []
    return stored
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
        const stored = takeUnrecorded()
        // In the order of the readings: the last one that is saved is what the next start compares with.
        reporting = reporting
          .then(() => runInSlices(listKeyChanges(before.byId, keys.byId)))
          .then((changes) =>
            report({
              source: 'api-keys',
              outcome: 'changed',
              changes,
              onRecorded: () => recorded?.save(stored),
            }),
          )
      },
      onError(cause) {
        isOutdated = true
        report({ source: 'api-keys', outcome: 'failed', cause })
      },
    }))
  const getKeys = (): LoadedKeys => followed?.current ?? noKeys
  const found = takeUnrecorded()
  if (recorded !== undefined) await reportFoundChanges(recorded, found, report)
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
      assertActive(key.stored, nowMs)
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
      await reporting
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
    const [earlier, later] = [runAtOnce(loadKeys(before)), runAtOnce(loadKeys(stored.map(withoutHash)))]
    const changes = runAtOnce(listKeyChanges(earlier.byId, later.byId))
    if (changes.length > 0) report({ source: 'api-keys', outcome: 'found', changes, onRecorded })
  } catch (cause) {
    report({ source: 'api-keys', outcome: 'not-compared', cause, onRecorded })
  }
}

/** A key in the form that takes the least memory. Times are in milliseconds since 1970. */
interface LoadedKey extends ComparableKey {
  /** Bytes as Latin-1. */
  readonly hash: string
}

/** A key whose secret was sent. */
interface ProvenKey extends VerifiedKey {
  readonly stored: LoadedKey
}

interface LoadedKeys {
  readonly byId: ReadonlyMap<string, LoadedKey>
  /** Of `listPrincipalExpiryTimes`. */
  readonly expiryTimes: Float64Array
}

const noKeys: LoadedKeys = { byId: new Map(), expiryTimes: new Float64Array() }

// Compared if the id is unknown, so that all refusals take equally long.
const placeholderHash = Buffer.alloc(32)

/** Returns the key with this secret, regardless of its validity period. Throws AuthenticationError. */
function verifySecret(keys: LoadedKeys['byId'], pepper: Uint8Array, text: string): ProvenKey {
  const parts = parseApiKey(text)
  if (parts === undefined) throw new AuthenticationError('malformed_api_key')
  const key = keys.get(parts.id)
  const isMatch = timingSafeEqual(
    hashSecret(pepper, parts.secret),
    key === undefined ? placeholderHash : Buffer.from(key.hash, 'latin1'),
  )
  if (key === undefined) throw new AuthenticationError('unknown_api_key')
  if (!isMatch) throw new AuthenticationError('wrong_api_key_secret')
  return {
    principal: createApiKeyPrincipal(parts.id, key.principal, key.groups),
    subject: key.subject,
    stored: key,
  }
}

function assertActive(key: LoadedKey, nowMs: number): void {
  if (key.isRevoked) throw new AuthenticationError('revoked_api_key')
  if (nowMs < (key.notBefore ?? -Infinity)) throw new AuthenticationError('api_key_not_yet_valid')
  if (nowMs >= (key.expiresAt ?? Infinity)) throw new AuthenticationError('expired_api_key')
}

function* loadKeys(stored: readonly StoredKey[]): Steps<LoadedKeys> {
  const byId = new Map<string, LoadedKey>()
  const groups = new Map<string, ReadonlySet<string>>()
  for (const key of stored) {
    byId.set(key.id, loadKey(key, shareGroups(groups, key.groups)))
    yield
  }
  return { byId, expiryTimes: yield* listPrincipalExpiryTimes(byId.values()) }
}

/** Returns one set for all keys with these groups in this order. */
function shareGroups(
  shared: Map<string, ReadonlySet<string>>,
  groups: readonly string[],
): ReadonlySet<string> {
  // Whatever characters names may have.
  const name = JSON.stringify(groups)
  const set = shared.get(name) ?? new Set(groups)
  shared.set(name, set)
  return set
}

function loadKey(key: StoredKey, groups: ReadonlySet<string>): LoadedKey {
  return {
    hash: Buffer.from(key.hash, 'hex').toString('latin1'),
    principal: key.principal,
    groups,
    // Regardless of its time: clocks differ, and a revocation is never recorded in advance.
    isRevoked: key.revokedAt !== undefined,
    subject: key.subject,
    notBefore: key.notBefore === undefined ? undefined : Date.parse(key.notBefore),
    expiresAt: key.expiresAt === undefined ? undefined : Date.parse(key.expiresAt),
    createdBy: key.createdBy,
    revokedBy: key.revokedBy,
    replaces: key.replaces,
  }
}

/** Retains only a hash of the static key, with a pepper of this process. */
function createStaticKeyMatcher(key: StaticKey | undefined): (text: string) => VerifiedKey | undefined {
  if (key === undefined) return () => undefined
  if (!/^[!-~]{8,256}$/.test(key.text)) {
    throw new Error('a key as clear text must have 8 to 256 printable characters and no spaces')
  }
  const pepper = randomBytes(32)
  const hash = hashSecret(pepper, key.text)
  const principal = createApiKeyPrincipal(
    'static',
    apiKeyNameSchema.parse(key.principal),
    new Set(key.groups),
  )
  const verified: VerifiedKey = { principal, subject: undefined }
  return (text) => (timingSafeEqual(hashSecret(pepper, text), hash) ? verified : undefined)
}

function createApiKeyPrincipal(id: string, name: string, groups: ReadonlySet<string>): Principal {
  return { name, method: 'api-key', groups, credentialId: id }
}
