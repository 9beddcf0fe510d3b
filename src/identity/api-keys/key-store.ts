import { isSeq } from 'yaml'
import { ApiKeyStoreError, parseKeyStore, type KeyDocument, type StoredKey } from './key-store-file.ts'
import { readKeyFiles } from './read-key-files.ts'
import { assertPepper, hashSecret, generateApiKey, formatApiKey, identifyPepper } from './api-key-format.ts'
import { replaceFile } from '../../lib/fs/replace-file.ts'

const header =
  ' API keys: written by "catalog-gateway keys". It holds no key, only what is needed to verify one.'

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

/** Adds a key to the store at a path; creates the store if it is missing. */
export async function createKey(path: string, pepper: Uint8Array, request: NewKey): Promise<CreatedKey> {
  const created = generateKey(pepper, request)
  await updateStore(path, (store) => appendKey(store, created.key))
  return created
}

/** Revokes a key permanently; a key that is already revoked keeps its time and actor. Throws if the id is unknown. */
export async function revokeKey(path: string, id: string, revokedBy?: string): Promise<void> {
  await updateStore(path, (store) => {
    const { index, key } = findKey(path, store, id)
    if (key.revokedAt !== undefined) return
    setTime(store, index, 'revokedAt', new Date())
    if (revokedBy !== undefined) store.document.setIn(['keys', index, 'revokedBy'], revokedBy)
  })
}

/**
 * The new key has the same attributes and lifetime; the old one ends at `endsAt`. Throws if it is unknown or expired.
 */
export async function rotateKey(
  path: string,
  pepper: Uint8Array,
  { id, endsAt, by }: { readonly id: string; readonly endsAt: Date; readonly by?: string },
): Promise<CreatedKey> {
  const created: CreatedKey[] = []
  await updateStore(path, (store) => {
    const { index, key } = findKey(path, store, id)
    const expires = key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt)
    if (key.revokedAt !== undefined || expires <= Date.now()) {
      throw new ApiKeyStoreError([`${path}: the key is revoked or expired`])
    }
    const successor = generateKey(pepper, {
      ...createSuccessorRequest(key),
      ...(by !== undefined && { createdBy: by }),
    })
    if (endsAt.getTime() < expires) setTime(store, index, 'expiresAt', endsAt)
    appendKey(store, successor.key)
    created.push(successor)
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
  return { text: formatApiKey(parts), key }
}

function findKey(path: string, { keys }: KeyDocument, id: string) {
  const index = keys.findIndex((key) => key.id === id)
  const key = keys[index]
  if (key === undefined) {
    const ids = keys.filter(({ principal }) => principal === id).map((one) => one.id)
    const suggestion = ids.length === 0 ? '' : `; the principal of this name has ${ids.join(', ')}`
    throw new ApiKeyStoreError([`${path}: there is no key with this id${suggestion}`])
  }
  return { index, key }
}

function appendKey({ document }: KeyDocument, key: StoredKey): void {
  const list = document.get('keys')
  // An empty list can only be written as `[]`; entries are more readable on separate lines.
  if (isSeq(list)) list.flow = false
  document.addIn(['keys'], document.createNode(key))
}

function setTime(
  { document }: KeyDocument,
  index: number,
  member: 'revokedAt' | 'expiresAt',
  time: Date,
): void {
  document.setIn(['keys', index, member], time.toISOString())
}

/** Edits the document, which preserves comments of operators; validates the result before writing it. */
async function updateStore(path: string, change: (store: KeyDocument) => void): Promise<void> {
  await replaceFile(path, (text) => {
    const store = parseKeyStore(text ?? `#${header}\nkeys: []\n`, path)
    change(store)
    const changed = store.document.toString()
    parseKeyStore(changed, path)
    return changed
  })
}
