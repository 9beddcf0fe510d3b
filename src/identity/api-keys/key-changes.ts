import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ignoreMissing, mapInSlices, writeAtomically } from '../../lib/index.ts'
import type { KeyChange, ReportEvent } from '../runtime.ts'
import { storedKeySchema, type StoredKey } from './key-store-file.ts'

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
  const revoked: readonly KeyChange[] =
    revokedAt === undefined || before?.revokedAt !== undefined
      ? []
      : [{ change: 'revoked', ...which, by: revokedBy }]
  if (before === undefined) {
    const change = replaces === undefined ? 'created' : 'rotated'
    return [{ change, ...which, by: createdBy, replaces }, ...revoked]
  }
  const members = comparedMembers.filter((name) => toComparable(before, name) !== toComparable(key, name))
  // A revocation has a change of its own; one that was undone is none.
  if (before.revokedAt !== undefined && revokedAt === undefined) members.push('revokedAt')
  return members.length === 0 ? revoked : [...revoked, { change: 'changed', ...which, members }]
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

const recordedSchema = z.strictObject({ keys: z.array(storedKeySchema) })

/**
 * Reports the changes of a key store, and keeps the keys whose changes are recorded in a file, in which a start finds the
 * changes while no gateway ran. The file has the format of a key store, without descriptions and with digests of the hashes:
 * it verifies no key. Without a file, a start reports nothing.
 */
export function createChangeReporter(file: string | undefined, report: ReportEvent) {
  const source = 'api-keys'
  // In the order of the readings: the next start compares with the last one that is saved.
  let pending = Promise.resolve()

  function save(keys: readonly StoredKey[]): void {
    if (file === undefined) return
    pending = pending
      .then(() => writeKeys(file, keys))
      .catch((cause: unknown) => report({ source, outcome: 'unwritten', cause }))
  }

  return {
    /** Reports changes since the last recorded ones. The first start only saves the keys. */
    async reportFound(keys: readonly StoredKey[]): Promise<void> {
      if (file === undefined) return
      const onRecorded = (): void => save(keys)
      try {
        const text = await readFile(file, 'utf8').catch(ignoreMissing)
        if (text === undefined) return onRecorded()
        const recorded = recordedSchema.parse(JSON.parse(text)).keys
        const changes = await listKeyChanges(recorded, keys.map(withoutHash))
        if (changes.length > 0) report({ source, outcome: 'found', changes, onRecorded })
      } catch (cause) {
        report({ source, outcome: 'not-compared', cause, onRecorded })
      }
    },
    reportChange(before: readonly StoredKey[], keys: readonly StoredKey[]): void {
      pending = pending.then(async () => {
        const changes = await listKeyChanges(before, keys)
        report({ source, outcome: 'changed', changes, onRecorded: () => save(keys) })
      })
    },
    /** Waits for reports and writes. */
    close: () => pending,
  }
}

async function writeKeys(path: string, keys: readonly StoredKey[]): Promise<void> {
  const texts = await mapInSlices(keys, (key) => JSON.stringify(withoutHash(key)))
  await writeAtomically(path, `{"keys":[${texts.join(',')}]}\n`)
}

/** Replaces the hash by its digest and omits the description, so that the key can be compared with a recorded one. */
function withoutHash(key: StoredKey): StoredKey {
  const digest = createHash('sha256').update(key.hash, 'hex').digest('hex')
  return { ...key, description: undefined, hash: digest }
}
