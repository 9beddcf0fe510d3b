import type { Steps } from '../../lib/async/run-in-slices.ts'

/** A difference between two readings of a key store. Contains no hash. */
export interface KeyChange {
  /**
   * `rotated`: created as the successor of `replaces`. `removed`: deleted from the store, which `keys` never does.
   * `changed`: anything else, named in `members`.
   */
  readonly change: 'created' | 'rotated' | 'revoked' | 'removed' | 'changed'
  /** Id of the key. */
  readonly key: string
  readonly principal: string
  /** Who created or revoked the key, as the store states; absent if it does not. */
  readonly by?: string
  readonly replaces?: string
  readonly members?: readonly string[]
}

/** What changes are found in, besides the id. */
export interface ComparableKey {
  readonly hash: string
  readonly principal: string
  readonly groups: ReadonlySet<string>
  readonly subject: string | undefined
  readonly isRevoked: boolean
  readonly notBefore: number | undefined
  readonly expiresAt: number | undefined
  readonly createdBy: string | undefined
  readonly revokedBy: string | undefined
  readonly replaces: string | undefined
}

/** Lists the changes between two readings, by key: those of the later reading first, then removed ones. */
export function* listKeyChanges(
  earlier: ReadonlyMap<string, ComparableKey>,
  later: ReadonlyMap<string, ComparableKey>,
): Steps<readonly KeyChange[]> {
  const changes: KeyChange[] = []
  for (const [id, key] of later) {
    changes.push(...compareKey(id, earlier.get(id), key))
    yield
  }
  for (const [id, { principal }] of earlier) {
    if (!later.has(id)) changes.push({ change: 'removed', key: id, principal })
    yield
  }
  return changes
}

function compareKey(id: string, before: ComparableKey | undefined, key: ComparableKey): readonly KeyChange[] {
  const which = { key: id, principal: key.principal }
  const { createdBy, revokedBy, replaces } = key
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
    return key.isRevoked ? [created, revoked] : [created]
  }
  const members = listChangedMembers(before, key)
  return [
    ...(key.isRevoked && !before.isRevoked ? [revoked] : []),
    ...(members.length > 0 ? [{ change: 'changed', ...which, members } as const] : []),
  ]
}

function listChangedMembers(before: ComparableKey, key: ComparableKey): readonly string[] {
  const members = [
    // Its value is never reported.
    ['hash', before.hash === key.hash],
    ['principal', before.principal === key.principal],
    ['groups', haveEqualItems(before.groups, key.groups)],
    ['subject', before.subject === key.subject],
    ['notBefore', before.notBefore === key.notBefore],
    ['expiresAt', before.expiresAt === key.expiresAt],
    ['revokedAt', !before.isRevoked || key.isRevoked],
  ] as const
  return members.flatMap(([name, isEqual]) => (isEqual ? [] : [name]))
}

function haveEqualItems(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((item) => other.has(item))
}
