import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ignoreMissing, mapInSlices, writeAtomically } from '../../lib/index.ts'
import { storedKeySchema, type StoredKey } from './key-store-file.ts'

/** A difference between two readings of a key store. */
export interface KeyChange {
  /** `rotated`: created as the successor of `replaces`. `removed`: not by `keys`. `changed`: in `members`. */
  readonly change: 'created' | 'rotated' | 'revoked' | 'removed' | 'changed'
  /** Id of the key. */
  readonly key: string
  readonly principal: string
  /** Who created or revoked the key, as the store states. */
  readonly by?: string
  readonly replaces?: string
  readonly members?: readonly string[]
}

/** Lists the changes between two readings, by key: those of the later reading first, then removed ones. */
export async function listKeyChanges(
  earlier: readonly StoredKey[],
  later: readonly StoredKey[],
): Promise<readonly KeyChange[]> {
  const before = new Map(earlier.map((key) => [key.id, key]))
  const changes = await mapInSlices(later, (key) => compareKey(before.get(key.id), key))
  for (const { id } of later) before.delete(id)
  const removed = [...before.values()].map(({ id, principal }): KeyChange => ({
    change: 'removed',
    key: id,
    principal,
  }))
  return [...changes.flat(), ...removed]
}

function compareKey(before: StoredKey | undefined, key: StoredKey): readonly KeyChange[] {
  const { id, principal, createdBy, revokedBy, replaces, revokedAt } = key
  const which = { key: id, principal }
  const revoked: KeyChange = {
    change: 'revoked',
    ...which,
    ...(revokedBy !== undefined && { by: revokedBy }),
  }
  if (before === undefined) {
    const created: KeyChange = {
      change: replaces === undefined ? 'created' : 'rotated',
      ...which,
      ...(createdBy !== undefined && { by: createdBy }),
      ...(replaces !== undefined && { replaces }),
    }
    return revokedAt === undefined ? [created] : [created, revoked]
  }
  const members = comparedMembers.filter((name) => toComparable(before, name) !== toComparable(key, name))
  // A revocation has a change of its own; one that was undone is none.
  if (before.revokedAt !== undefined && revokedAt === undefined) members.push('revokedAt')
  return [
    ...(revokedAt !== undefined && before.revokedAt === undefined ? [revoked] : []),
    ...(members.length > 0 ? [{ change: 'changed', ...which, members } as const] : []),
  ]
}

const comparedMembers: (keyof StoredKey)[] = [
  // Its value is never reported.
  'hash',
  'principal',
  'groups',
  'subject',
  'notBefore',
  'expiresAt',
]

function toComparable(key: StoredKey, name: keyof StoredKey): unknown {
  const value = key[name]
  if (name === 'groups') return JSON.stringify([...new Set(key.groups)].toSorted())
  return value !== undefined && (name === 'notBefore' || name === 'expiresAt')
    ? Date.parse(String(value))
    : value
}

/** The keys whose changes have been recorded, in a file: a start finds in it what changed while no gateway ran. */
export interface RecordedKeys {
  /** Lists what changed since changes were recorded; undefined if there is no file. Rejects if it cannot be read. */
  findChanges(keys: readonly StoredKey[]): Promise<readonly KeyChange[] | undefined>
  /** Writes the file after those writes that have started. Failures are reported. */
  save(keys: readonly StoredKey[]): void
  /** Waits for the writes. */
  close(): Promise<void>
}

const recordedSchema = z.strictObject({ keys: z.array(storedKeySchema) })

/** The file has the format of a key store, without descriptions and with digests of the hashes: it verifies no key. */
export function openRecordedKeys(file: string, onError: (cause: unknown) => void): RecordedKeys {
  let writing = Promise.resolve()
  let latest: readonly StoredKey[] = []

  /** Skips keys that newer ones have replaced before their turn. */
  async function write(keys: readonly StoredKey[]): Promise<void> {
    if (keys !== latest) return
    const texts = await mapInSlices(keys, (key) => JSON.stringify(withoutHash(key)))
    await writeAtomically(file, `{"keys":[${texts.join(',')}]}\n`)
  }

  return {
    async findChanges(keys) {
      const text = await readFile(file, 'utf8').catch(ignoreMissing)
      if (text === undefined) return undefined
      return listKeyChanges(recordedSchema.parse(JSON.parse(text)).keys, keys.map(withoutHash))
    },
    save(keys) {
      latest = keys
      writing = writing.then(() => write(keys)).catch(onError)
    },
    close: () => writing,
  }
}

/** Replaces the hash by its digest and omits the description, so that the key can be compared with a recorded one. */
function withoutHash(key: StoredKey): StoredKey {
  const digest = createHash('sha256').update(key.hash, 'hex').digest('hex')
  return { ...key, description: undefined, hash: digest }
}
