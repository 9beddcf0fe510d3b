import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { apiKeyNameSchema, type BootstrapKeySettings } from '../../config/index.ts'
import { followFiles, withoutReserve } from '../../lib/index.ts'
import { AuthenticationError } from '../authentication-error.ts'
import type { IdentityRuntime } from '../runtime.ts'
import type { Principal } from '../principal.ts'
import { assertPepper, hashSecret, parseApiKey } from './api-key-format.ts'
import { createChangeReporter } from './key-changes.ts'
import { computeKeyFilesStamp, listKeys, type StoredKey } from './key-store-file.ts'
import { openLastUsedRecorder } from './last-used.ts'
import { assertPepperOfKeys, describeUnusableKeys } from './key-store.ts'

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

export type ApiKeys = Awaited<ReturnType<typeof openApiKeys>>

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
  store: KeyStoreOptions | undefined,
  staticKey: StaticKey | undefined,
  lastUsedIntervalMs: number,
  { now, report, reloadIntervalMs }: Pick<IdentityRuntime, 'now' | 'report' | 'reloadIntervalMs'>,
) {
  const pepper = store?.pepper ?? randomBytes(32)
  assertPepper(pepper)
  /** Verifying a key takes 6 us, a cache hit less than one. Texts are stored as digests with a salt of this process. */
  const provenKeys = new LRUCache<string, ProvenKey>(withoutReserve(maxProvenKeys))
  const salt = randomBytes(16).toString('hex')
  const digestOf = (text: string): string => hash('sha256', salt + text, 'base64')
  const known = staticKey && { digest: digestOf(staticKey.text), key: verifyStaticKey(staticKey) }
  let isOutdated = false
  let isFirst = true
  const changes = createChangeReporter(store?.recordedFile, report)

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

  const followed =
    store &&
    (await followFiles({
      stamp: () => computeKeyFilesStamp(store.file),
      read: () => readKeys(store.file),
      intervalMs: reloadIntervalMs,
      onChange(keys, before) {
        provenKeys.clear()
        isOutdated = false
        changes.reportChange(before.all, keys.all)
      },
      onError(cause) {
        isOutdated = true
        report({ source: 'api-keys', outcome: 'failed', cause })
      },
    }))
  const noKeys = loadKeys([])
  const getKeys = (): LoadedKeys => followed?.current ?? noKeys
  await changes.reportFound(getKeys().all)
  const lastUsed =
    store?.lastUsedFile === undefined
      ? undefined
      : openLastUsedRecorder(
          store.lastUsedFile,
          lastUsedIntervalMs,
          (id) => getKeys().byId.has(id),
          (cause) => report({ source: 'api-keys', outcome: 'unwritten', cause }),
        )

  return {
    /** Throws AuthenticationError. Takes microseconds, and equally long for an unknown id. */
    verify(text: string): VerifiedKey {
      const digest = digestOf(text)
      if (digest === known?.digest) return known.key
      const nowMs = now()
      let key = provenKeys.get(digest)
      if (key === undefined) provenKeys.set(digest, (key = verifySecret(getKeys().byId, pepper, text)))
      assertActive(key, nowMs)
      lastUsed?.record(key.principal.credentialId, nowMs)
      return key
    },
    status: () => ({
      /** Number of keys in the store, including revoked and expired ones. */
      keys: getKeys().all.length,
      /** Whether the current content of the store cannot be loaded. */
      isOutdated,
      /** When the next principal will have no valid key, in milliseconds since 1970; undefined if none will. */
      nextExpiryMs: getKeys().expiryTimes.find((end) => end > now()),
    }),
    async close() {
      followed?.close()
      await lastUsed?.close()
      await changes.close()
    },
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

function verifyStaticKey({ text, principal, groups }: StaticKey): VerifiedKey {
  if (!/^[!-~]{8,256}$/.test(text))
    throw new Error('a key as clear text must have 8 to 256 printable characters and no spaces')
  const name = apiKeyNameSchema.parse(principal)
  return { principal: createApiKeyPrincipal('static', name, groups), subject: undefined }
}

function createApiKeyPrincipal(id: string, name: string, groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: id }
}
