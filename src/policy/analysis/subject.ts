import type { Principal } from '../../identity/principal.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'

/** One way in which policies name callers. */
type SubjectKind = 'user' | 'group' | 'key' | 'any' | 'anonymous'

/**
 * A caller as far as one rule names it: by its name, a group, a key, or not at all (`any`); or one without a credential
 * (`anonymous`), of whom there is nothing else to know.
 */
export interface Subject {
  readonly kind: SubjectKind
  readonly name: string
}

/** Every authenticated caller. */
export const anySubject: Subject = { kind: 'any', name: '' }

/** Every caller without a credential. */
export const anonymousSubject: Subject = { kind: 'anonymous', name: '' }

/** What is known of a caller. Undefined, and groups that are in neither list, are not known. */
export interface KnownCaller {
  /** Whether it sent no credential: then the rest says nothing. */
  readonly isAnonymous: boolean
  readonly user: string | undefined
  readonly key: string | undefined
  readonly groups: ReadonlySet<string>
  /** Groups that the caller is not in; `all` for all that are not in `groups`. */
  readonly excludedGroups: ReadonlySet<string> | 'all'
}

/** Whom a rule concerns, where that depends on what is not known; true and false where it does not. */
export type SubjectMatch = boolean | Subjects

const emptyNames: ReadonlySet<string> = new Set()

/** What is known of a caller whom a rule names so. A caller has one name and one key, and may be in more groups. */
export function knownFromSubject({ kind, name }: Subject): KnownCaller {
  return {
    isAnonymous: kind === 'anonymous',
    user: kind === 'user' ? name : undefined,
    key: kind === 'key' ? name : undefined,
    groups: kind === 'group' ? new Set([name]) : emptyNames,
    excludedGroups: emptyNames,
  }
}

/** All that there is to know of a caller. */
export function knownFromPrincipal({ name, method, credentialId, groups }: Principal): KnownCaller {
  const key = method === 'api-key' ? credentialId : ''
  return { isAnonymous: method === 'anonymous', user: name, key, groups, excludedGroups: 'all' }
}

/** Whether a rule concerns a caller, as far as what is known tells. */
export function matchSubjects(subjects: Subjects, caller: KnownCaller): SubjectMatch {
  if (caller.isAnonymous) return subjects.anonymous
  const excepted = subjects.except === undefined ? false : matchNames(subjects.except, caller)
  if (excepted === true) return false
  const named = subjects.any || matchNames(subjects, caller)
  if (named === false) return false
  const except = excepted === false ? undefined : excepted
  if (named === true) return except === undefined ? true : { ...noNames, any: true, anonymous: false, except }
  return { ...named, any: false, anonymous: false, except }
}

/** Everybody whom subjects name, each way by itself. */
export function listSubjects({
  users,
  groups,
  keys,
  any,
  anonymous,
}: NamedSubjects & Partial<Pick<Subjects, 'any' | 'anonymous'>>): readonly Subject[] {
  return [
    ...subjectsOfKind('user', users),
    ...subjectsOfKind('group', groups),
    ...subjectsOfKind('key', keys),
    ...(any === true ? [anySubject] : []),
    ...(anonymous === true ? [anonymousSubject] : []),
  ]
}

function subjectsOfKind(kind: SubjectKind, names: readonly string[]): readonly Subject[] {
  return [...new Set(names)].map((name) => ({ kind, name }))
}

const noNames: NamedSubjects = { users: [], groups: [], keys: [] }

/** True and false where it is certain, else the names on which it depends. */
function matchNames(
  names: NamedSubjects,
  { user, key, groups, excludedGroups }: KnownCaller,
): boolean | NamedSubjects {
  if (user !== undefined && names.users.includes(user)) return true
  if (key !== undefined && names.keys.includes(key)) return true
  if (names.groups.some((group) => groups.has(group))) return true
  const open: NamedSubjects = {
    users: user === undefined ? names.users : [],
    keys: key === undefined ? names.keys : [],
    groups: excludedGroups === 'all' ? [] : names.groups.filter((group) => !excludedGroups.has(group)),
  }
  return open.users.length + open.keys.length + open.groups.length === 0 ? false : open
}
