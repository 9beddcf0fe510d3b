import { formatKeyLine, formatKeyLines, parseKeyLine, type KeyLines } from './key-lines.ts'
import { ApiKeyStoreError, checkStoredKey, parseKeyStore, type KeyStore } from './key-store-file.ts'
import type { StoredKey } from './stored-key.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { readKeyFiles } from './read-key-files.ts'
import { assertPepper, hashSecret, generateApiKey, formatApiKey, identifyPepper } from './api-key-format.ts'
import { assertPepperOfKeys } from './pepper.ts'
import { replaceFile } from '../../lib/fs/replace-file.ts'

const emptyStore: KeyStore = {
  keys: [],
  text: {
    head: [
      '# API keys: written by "catalog-gateway keys". It holds no key, only what is needed to verify one.',
    ],
    lines: [],
  },
}

export interface NewKey {
  readonly principal: string
  readonly groups: readonly string[]
  /** Principal of a token or a certificate that may be combined with the key. */
  readonly subject?: string
  readonly notBefore?: Date
  readonly expiresAt?: Date
  readonly description?: string
  /** Who creates the key, for the audit log of the gateways. */
  readonly createdBy?: string
  /** Id of the key of which this one is the successor. */
  readonly replaces?: string
}

/** A created key. Its text is available only here. */
export interface CreatedKey {
  readonly text: string
  readonly key: StoredKey
}

/** Lists the keys of the store at a path, including revoked and expired ones. */
export async function listKeys(path: string): Promise<readonly StoredKey[]> {
  return await readKeyFiles(path)
}

/**
 * Adds a key to the store at a path; creates the store if it is missing. Throws if the keys of the store have another
 * pepper: no gateway would accept both.
 */
export async function createKey(path: string, pepper: Uint8Array, request: NewKey): Promise<CreatedKey> {
  const created = generateKey(pepper, request)
  await updateStore(path, ({ keys, text }) => {
    assertPepperOfKeys(pepper, keys)
    return [...text.lines, formatKeyLine(created.key)]
  })
  return created
}

/** Revokes a key permanently; a key that is already revoked keeps its time and actor. Throws if the id is unknown. */
export async function revokeKey(path: string, id: string, revokedBy?: string): Promise<void> {
  await updateStore(path, (store) => {
    const key = findKey(path, store, id)
    if (key.revokedAt !== undefined) return store.text.lines
    const revokedAt = new Date().toISOString()
    return replaceKey(store.text, { ...key, revokedAt, ...(revokedBy !== undefined && { revokedBy }) })
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
  const created: CreatedKey[] = []
  await updateStore(path, (store) => {
    const key = findKey(path, store, id)
    const expires = key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt)
    if (key.revokedAt !== undefined || expires <= Date.now()) {
      throw new ApiKeyStoreError([`${path}: the key is revoked or expired`])
    }
    // The lifetime of a key that was rotated is unknown: it ends with the grace period.
    const known = store.keys.find(({ replaces }) => replaces === id)
    if (known !== undefined)
      throw new ApiKeyStoreError([`${path}: the key has the successor ${known.id}; rotate that one`])
    assertPepperOfKeys(pepper, [key])
    const successor = generateKey(pepper, {
      ...createSuccessorRequest(key),
      ...(by !== undefined && { createdBy: by }),
    })
    created.push(successor)
    const lines =
      endsAt.getTime() < expires
        ? replaceKey(store.text, { ...key, expiresAt: endsAt.toISOString() })
        : store.text.lines
    return [...lines, formatKeyLine(successor.key)]
  })
  const [successor] = created
  if (successor === undefined)
    throw new Error('the store was replaced by another process and lacks the change')
  return successor
}

function createSuccessorRequest({
  id,
  principal,
  groups,
  subject,
  description,
  createdAt,
  expiresAt,
}: StoredKey): NewKey {
  const lifetime = expiresAt === undefined ? undefined : Date.parse(expiresAt) - Date.parse(createdAt)
  return {
    principal,
    groups,
    replaces: id,
    ...(subject === undefined ? {} : { subject }),
    ...(description === undefined ? {} : { description }),
    ...(lifetime === undefined ? {} : { expiresAt: new Date(Date.now() + lifetime) }),
  }
}

function generateKey(pepper: Uint8Array, request: NewKey): CreatedKey {
  assertPepper(pepper)
  const parts = generateApiKey()
  const { principal, groups, subject, notBefore, expiresAt, description, createdBy, replaces } = request
  const key: StoredKey = {
    id: parts.id,
    principal,
    groups: [...groups],
    ...(subject === undefined ? {} : { subject }),
    hash: hashSecret(pepper, parts.secret).toString('hex'),
    pepper: identifyPepper(pepper),
    createdAt: new Date().toISOString(),
    ...(createdBy === undefined ? {} : { createdBy }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(notBefore === undefined ? {} : { notBefore: notBefore.toISOString() }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
    ...(description === undefined ? {} : { description }),
  }
  checkStoredKey(key)
  return { text: formatApiKey(parts), key }
}

function findKey(path: string, { keys }: KeyStore, id: string): StoredKey {
  const key = keys.find((each) => each.id === id)
  if (key !== undefined) return key
  const ids = keys.filter(({ principal }) => principal === id).map((one) => one.id)
  const suggestion = ids.length === 0 ? '' : `; the principal of this name has ${ids.join(', ')}`
  throw new ApiKeyStoreError([`${path}: there is no key with this id${suggestion}`])
}

/** Returns the lines of the store with another line for the key of the same id. */
function replaceKey({ lines }: KeyLines, key: StoredKey): readonly string[] {
  return lines.map((line) =>
    line.includes(key.id) && getMembers(parseKeyLine(line))['id'] === key.id ? formatKeyLine(key) : line,
  )
}

/** Replaces the lines of the store by the result of `change`. Rejects if the store is invalid. */
async function updateStore(path: string, change: (store: KeyStore) => readonly string[]): Promise<void> {
  await replaceFile(path, (text) => {
    const store = text === undefined ? emptyStore : parseKeyStore(text, path)
    return formatKeyLines({ head: store.text.head, lines: change(store) })
  })
}
