import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import type { z } from 'zod'
import { hasErrorCode, ignoreMissing, replaceFile } from '../../lib/index.ts'
import { assertPepper, formatApiKey, generateApiKey, hashSecret, identifyPepper } from './api-key-format.ts'
import {
  formatKeyStore,
  formatPath,
  type KeyStore,
  listKeys,
  listStoredKeys,
  parseKeyStore,
  type StoredKey,
  storedKeySchema,
} from './key-store-file.ts'

const emptyStore: KeyStore = {
  head: [
    '# API keys: written by "catalog-gateway keys". It holds no key, only what is needed to verify one.',
  ],
  lines: [],
}

export type NewKey = Pick<
  z.input<typeof storedKeySchema>,
  'principal' | 'subject' | 'description' | 'createdBy' | 'replaces'
> & {
  readonly groups: readonly string[]
  readonly notBefore?: Date | undefined
  readonly expiresAt?: Date | undefined
}

/** A created key. Its text is available only here. */
export interface CreatedKey {
  readonly text: string
  readonly key: StoredKey
}

/**
 * Adds a key to the store at a path; creates the store if it is missing. Throws if the keys of the store have another
 * pepper: no gateway would accept both.
 */
export async function createKey(path: string, pepper: Uint8Array, request: NewKey): Promise<CreatedKey> {
  const created = generateKey(pepper, request)
  await updateStore(path, (keys) => {
    assertPepperOfKeys(pepper, keys)
    return [created.key]
  })
  return created
}

/** Revokes a key permanently; a key that is already revoked keeps its time and actor. Throws if the id is unknown. */
export async function revokeKey(path: string, id: string, revokedBy?: string): Promise<void> {
  await updateStore(path, (keys) => {
    const key = findKey(path, keys, id)
    return key.revokedAt === undefined ? [{ ...key, revokedAt: new Date().toISOString(), revokedBy }] : []
  })
}

/**
 * The new key has the same attributes and lifetime; the old one ends at `endsAt`. Throws if it is unknown or expired, has a
 * successor already, or has another pepper.
 */
export async function rotateKey(
  path: string,
  pepper: Uint8Array,
  { id, endsAt, by }: { readonly id: string; readonly endsAt: Date; readonly by?: string },
): Promise<CreatedKey> {
  let successor!: CreatedKey
  await updateStore(path, (keys) => {
    const key = findKey(path, keys, id)
    const expires = Date.parse(key.expiresAt ?? '+275760-09-13')
    if (key.revokedAt !== undefined || expires <= Date.now())
      throw new Error(`${path}: the key is revoked or expired`)
    // The lifetime of a key that was rotated is unknown: it ends with the grace period.
    const known = keys.find(({ replaces }) => replaces === id)
    if (known !== undefined)
      throw new Error(`${path}: the key has the successor ${known.id}; rotate that one`)
    assertPepperOfKeys(pepper, [key])
    const { principal, groups, subject, description, createdAt } = key
    const lifetime = expires - Date.parse(createdAt)
    const expiresAt = key.expiresAt === undefined ? undefined : new Date(Date.now() + lifetime)
    const request = { principal, groups, subject, description, expiresAt, createdBy: by, replaces: id }
    successor = generateKey(pepper, request)
    const ended = { ...key, expiresAt: endsAt.toISOString() }
    return endsAt.getTime() < expires ? [ended, successor.key] : [successor.key]
  })
  return successor
}

/** Throws with all errors of the request. */
function generateKey(pepper: Uint8Array, { notBefore, expiresAt, ...request }: NewKey): CreatedKey {
  assertPepper(pepper)
  const { id, secret } = generateApiKey()
  const { data: key, error } = storedKeySchema.safeParse({
    ...request,
    id,
    hash: hashSecret(pepper, secret).toString('hex'),
    pepper: identifyPepper(pepper),
    createdAt: new Date().toISOString(),
    notBefore: notBefore?.toISOString(),
    expiresAt: expiresAt?.toISOString(),
  })
  if (key === undefined)
    throw new Error(error.issues.map(({ path, message }) => formatPath(path) + message).join('\n'))
  return { text: formatApiKey({ id, secret }), key }
}

function findKey(path: string, keys: readonly StoredKey[], id: string): StoredKey {
  const key = keys.find((each) => each.id === id)
  if (key !== undefined) return key
  const ids = keys.filter(({ principal }) => principal === id).map((one) => one.id)
  const suggestion = ids.length === 0 ? '' : `; the principal of this name has ${ids.join(', ')}`
  throw new Error(`${path}: there is no key with this id${suggestion}`)
}

/** Puts the keys that `change` returns in place of those with their ids, or at the end. Rejects if the store is invalid. */
async function updateStore(
  path: string,
  change: (keys: readonly StoredKey[]) => readonly StoredKey[],
): Promise<void> {
  await replaceFile(path, async (text) => {
    const store = text === undefined ? emptyStore : await parseKeyStore(text, path)
    const keys = listStoredKeys(store)
    const changed = change(keys)
    const added = changed.filter(({ id }) => keys.every((key) => key.id !== id))
    const lines = store.lines.map((line) =>
      typeof line === 'string' ? line : (changed.find(({ id }) => id === line.id) ?? line),
    )
    return formatKeyStore({ head: store.head, lines: [...lines, ...added] })
  })
}

/** Reads the pepper of the API key hashes; ignores surrounding white space. Rejects if it is shorter than 32 bytes. */
export async function readPepper(file: string): Promise<Buffer> {
  const pepper = Buffer.from((await readFile(file, 'utf8')).trim())
  assertPepper(pepper)
  return pepper
}

/**
 * Reads the pepper; if the file is missing and the store has no key, creates it with a new secret, readable by its owner
 * only. With a key in the store, a missing file is an error: its path may be misspelt.
 */
export async function readOrCreatePepper(file: string, store: string): Promise<Buffer> {
  try {
    return await readPepper(file)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
    const keys = (await listKeys(store).catch(ignoreMissing)) ?? []
    if (keys.length > 0)
      throw new Error(`there is no file ${file}, and the keys in ${store} have a pepper; name its file`, {
        cause: error,
      })
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
    return readPepper(file)
  }
}

/** Throws if no key has this pepper, and one that is neither revoked nor expired has another one. */
export function assertPepperOfKeys(pepper: Uint8Array, keys: readonly StoredKey[]): void {
  const own = identifyPepper(pepper)
  const problem = describeUnusableKeys(pepper, keys)
  if (problem !== undefined && !keys.some(({ pepper: named = own }) => named === own))
    throw new Error(problem)
}

const maxNamed = 5

/** Describes the keys that are unusable, although neither revoked nor expired: they have another pepper. */
export function describeUnusableKeys(pepper: Uint8Array, keys: readonly StoredKey[]): string | undefined {
  const own = identifyPepper(pepper)
  const unusable = keys.filter(
    ({ pepper: named = own, revokedAt, expiresAt }) =>
      named !== own &&
      revokedAt === undefined &&
      (expiresAt === undefined || Date.parse(expiresAt) > Date.now()),
  )
  if (unusable.length === 0) return undefined
  const ids = unusable.slice(0, maxNamed).map(({ id }) => id)
  if (unusable.length > maxNamed) ids.push(`${unusable.length - maxNamed} more`)
  return `the pepper is not the one of the keys ${ids.join(', ')}, which nobody can use; expected the file of their pepper, or new keys`
}
