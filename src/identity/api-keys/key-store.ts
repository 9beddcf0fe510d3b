import { replaceFile } from '../../lib/index.ts'
import { assertPepper, formatApiKey, generateApiKey, hashSecret, identifyPepper } from './api-key-format.ts'
import {
  ApiKeyStoreError,
  formatKeyStore,
  formatPath,
  type KeyLine,
  type KeyStore,
  listStoredKeys,
  parseKeyStore,
  type StoredKey,
  storedKeySchema,
  toKeyLine,
} from './key-store-file.ts'
import { assertPepperOfKeys } from './pepper.ts'

const emptyStore: KeyStore = {
  head: [
    '# API keys: written by "catalog-gateway keys". It holds no key, only what is needed to verify one.',
  ],
  lines: [],
}

export interface NewKey {
  readonly principal: string
  readonly groups: readonly string[]
  /** Principal of a token or a certificate that may be combined with the key. */
  readonly subject?: string | undefined
  readonly notBefore?: Date | undefined
  readonly expiresAt?: Date | undefined
  readonly description?: string | undefined
  /** Who creates the key, for the audit log of the gateways. */
  readonly createdBy?: string | undefined
  /** Id of the key of which this one is the successor. */
  readonly replaces?: string | undefined
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
  await updateStore(path, (keys, lines) => {
    assertPepperOfKeys(pepper, keys)
    return [...lines, toKeyLine(created.key)]
  })
  return created
}

/** Revokes a key permanently; a key that is already revoked keeps its time and actor. Throws if the id is unknown. */
export async function revokeKey(path: string, id: string, revokedBy?: string): Promise<void> {
  await updateStore(path, (keys, lines) => {
    const key = findKey(path, keys, id)
    const revokedAt = new Date().toISOString()
    return key.revokedAt === undefined ? replaceKey(lines, { ...key, revokedAt, revokedBy }) : lines
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
  let successor: CreatedKey | undefined
  await updateStore(path, (keys, lines) => {
    const key = findKey(path, keys, id)
    const expires = Date.parse(key.expiresAt ?? '+275760-09-13')
    if (key.revokedAt !== undefined || expires <= Date.now())
      throw new ApiKeyStoreError([`${path}: the key is revoked or expired`])
    // The lifetime of a key that was rotated is unknown: it ends with the grace period.
    const known = keys.find(({ replaces }) => replaces === id)
    if (known !== undefined)
      throw new ApiKeyStoreError([`${path}: the key has the successor ${known.id}; rotate that one`])
    assertPepperOfKeys(pepper, [key])
    const { principal, groups, subject, description, createdAt } = key
    const lifetime = expires - Date.parse(createdAt)
    const expiresAt = key.expiresAt === undefined ? undefined : new Date(Date.now() + lifetime)
    const request = { principal, groups, subject, description, expiresAt, createdBy: by, replaces: id }
    successor = generateKey(pepper, request)
    const ended = { ...key, expiresAt: endsAt.toISOString() }
    return [...(endsAt.getTime() < expires ? replaceKey(lines, ended) : lines), toKeyLine(successor.key)]
  })
  if (successor === undefined)
    throw new Error('the store was replaced by another process and lacks the change')
  return successor
}

/** Throws ApiKeyStoreError with all errors of the request. */
function generateKey(pepper: Uint8Array, request: NewKey): CreatedKey {
  assertPepper(pepper)
  const { id, secret } = generateApiKey()
  const { principal, groups, subject, notBefore, expiresAt, description, createdBy, replaces } = request
  const { data: key, error } = storedKeySchema.safeParse({
    id,
    principal,
    groups,
    subject,
    hash: hashSecret(pepper, secret).toString('hex'),
    pepper: identifyPepper(pepper),
    createdAt: new Date().toISOString(),
    createdBy,
    replaces,
    notBefore: notBefore?.toISOString(),
    expiresAt: expiresAt?.toISOString(),
    description,
  })
  if (key === undefined)
    throw new ApiKeyStoreError(error.issues.map(({ path, message }) => formatPath(path) + message))
  return { text: formatApiKey({ id, secret }), key }
}

function findKey(path: string, keys: readonly StoredKey[], id: string): StoredKey {
  const key = keys.find((each) => each.id === id)
  if (key !== undefined) return key
  const ids = keys.filter(({ principal }) => principal === id).map((one) => one.id)
  const suggestion = ids.length === 0 ? '' : `; the principal of this name has ${ids.join(', ')}`
  throw new ApiKeyStoreError([`${path}: there is no key with this id${suggestion}`])
}

/** Returns the lines of a store with another line for the key of the same id. */
function replaceKey(lines: readonly KeyLine[], key: StoredKey): readonly KeyLine[] {
  return lines.map((line) => (line.key?.id === key.id ? toKeyLine(key) : line))
}

/** Replaces the lines of the store by the result of `change`. Rejects if the store is invalid. */
async function updateStore(
  path: string,
  change: (keys: readonly StoredKey[], lines: readonly KeyLine[]) => readonly KeyLine[],
): Promise<void> {
  await replaceFile(path, async (text) => {
    const store = text === undefined ? emptyStore : await parseKeyStore(text, path)
    return formatKeyStore({ head: store.head, lines: change(listStoredKeys(store), store.lines) })
  })
}
