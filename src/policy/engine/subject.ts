import type { Principal } from '../../identity/index.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'

type SubjectKind = 'user' | 'group' | 'key' | 'any' | 'anonymous'

/**
 * A caller as one rule names it: by name, group or key, or as any authenticated caller (`any`) or one without a
 * credential (`anonymous`).
 */
export interface Subject {
  readonly kind: SubjectKind
  readonly name: string
}

export const anySubject: Subject = { kind: 'any', name: '' }

export const anonymousSubject: Subject = { kind: 'anonymous', name: '' }

/** What is known of a caller. An undefined value, or a group in neither set, is not known. */
export interface KnownCaller {
  /** If true, the other members have no meaning; if undefined, it may be any caller. */
  readonly isAnonymous: boolean | undefined
  readonly user: string | undefined
  readonly key: string | undefined
  readonly groups: ReadonlySet<string>
  /** Groups that the caller is not in; `all` for all groups that are not in `groups`. */
  readonly excludedGroups: ReadonlySet<string> | 'all'
}

/** Whether a rule names the caller; if that depends on something not known, the subjects on which it depends. */
export type SubjectMatch = boolean | Subjects

const emptyNames: ReadonlySet<string> = new Set()

/** Any caller, with a credential or without. */
export const anyCaller: KnownCaller = {
  isAnonymous: undefined,
  user: undefined,
  key: undefined,
  groups: emptyNames,
  excludedGroups: emptyNames,
}

/** A caller has one name and one key, but may have more groups. */
export function knownFromSubject({ kind, name }: Subject): KnownCaller {
  return {
    isAnonymous: kind === 'anonymous',
    user: kind === 'user' ? name : undefined,
    key: kind === 'key' ? name : undefined,
    groups: kind === 'group' ? new Set([name]) : emptyNames,
    excludedGroups: emptyNames,
  }
}

/** A caller that is this subject and nothing else that rules name. */
export function knownAsOnly({ kind, name }: Subject): KnownCaller {
  return {
    isAnonymous: kind === 'anonymous',
    user: kind === 'user' ? name : '',
    key: kind === 'key' ? name : '',
    groups: kind === 'group' ? new Set([name]) : emptyNames,
    excludedGroups: 'all',
  }
}

export function knownFromPrincipal({ name, method, credentialId, groups }: Principal): KnownCaller {
  const key = method === 'api-key' ? credentialId : ''
  return { isAnonymous: method === 'anonymous', user: name, key, groups, excludedGroups: 'all' }
}

export function matchSubjects(subjects: Subjects, caller: KnownCaller): SubjectMatch {
  if (caller.isAnonymous === undefined) return isEveryone(subjects) || subjects
  if (caller.isAnonymous) return subjects.anonymous
  const excepted = subjects.except === undefined ? false : matchNames(subjects.except, caller)
  if (excepted === true) return false
  const named = subjects.any || matchNames(subjects, caller)
  if (named === false) return false
  const except = excepted === false ? undefined : excepted
  if (named === true) return except === undefined ? true : { ...noNames, any: true, anonymous: false, except }
  return { ...named, any: false, anonymous: false, except }
}

function isEveryone({ any, anonymous, except }: Subjects): boolean {
  return any && anonymous && except === undefined
}

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

/** Returns a boolean if the match is certain, otherwise the names on which it depends. */
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
