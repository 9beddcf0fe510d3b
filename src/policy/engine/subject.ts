import type { Principal } from '../../identity/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'

type SubjectKind = 'user' | 'group' | 'key' | 'any' | 'anonymous'

/** A caller as one rule names it; `any` is every authenticated caller, `anonymous` one without a credential. */
export interface Subject {
  readonly kind: SubjectKind
  readonly name: string
}

export const anySubject: Subject = { kind: 'any', name: '' }

export const anonymousSubject: Subject = { kind: 'anonymous', name: '' }

/** The known parts of a caller. An undefined value, or a group in neither set, is not known. */
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

/** A caller of whom one subject is known. It has one name and one key, but may have more groups. */
export function knownFromSubject(subject: Subject): KnownCaller {
  return completeCaller(subject, anyCaller)
}

/** A caller that is this subject and nothing else that rules name. */
export function knownAsOnly(subject: Subject): KnownCaller {
  return completeCaller(subject, { ...anyCaller, user: '', key: '', excludedGroups: 'all' })
}

function completeCaller({ kind, name }: Subject, others: KnownCaller): KnownCaller {
  return {
    ...others,
    isAnonymous: kind === 'anonymous',
    ...(kind === 'user' && { user: name }),
    ...(kind === 'key' && { key: name }),
    ...(kind === 'group' && { groups: new Set([name]) }),
  }
}

export function knownFromPrincipal({ name, method, credentialId, groups }: Principal): KnownCaller {
  const key = method === 'api-key' ? credentialId : ''
  return { isAnonymous: method === 'anonymous', user: name, key, groups, excludedGroups: 'all' }
}

/** Numbers subjects, so that decisions compare numbers only. */
export class SubjectNumbers {
  readonly #numbers = new Map<string, number>()

  assign(subjects: NamedSubjects & Partial<Subjects>): readonly number[] {
    return listSubjects(subjects).map((subject) => {
      const key = subjectKey(subject)
      const number = this.#numbers.get(key) ?? this.#numbers.size
      this.#numbers.set(key, number)
      return number
    })
  }

  /**
   * Returns the numbers of a caller: a rule names it if it has one of them. Cached per principal. All rules must be
   * compiled first: subjects numbered later are missed.
   */
  readonly find = memoizeByObject((principal: Principal) => this.#findAll(knownFromPrincipal(principal)))

  /** Returns the numbers of a caller if it is known as a whole. */
  findWhole(caller: KnownCaller): ReadonlySet<number> | undefined {
    const { isAnonymous, user, key, excludedGroups } = caller
    const isWhole =
      isAnonymous !== undefined &&
      (isAnonymous || (user !== undefined && key !== undefined && excludedGroups === 'all'))
    return isWhole ? this.#findAll(caller) : undefined
  }

  #findAll({ isAnonymous, user = '', key = '', groups }: KnownCaller): ReadonlySet<number> {
    const named = { users: [user], keys: [key], groups: [...groups], any: true }
    const subjects = listSubjects(isAnonymous ? { ...noNames, anonymous: true } : named)
    const numbers = subjects.map((subject) => this.#numbers.get(subjectKey(subject)))
    return new Set(numbers.filter((number) => number !== undefined))
  }
}

function subjectKey({ kind, name }: Subject): string {
  return `${kind} ${name}`
}

export function matchSubjects(subjects: Subjects, caller: KnownCaller): SubjectMatch {
  const { any, anonymous } = subjects
  if (caller.isAnonymous === undefined) return (any && anonymous && subjects.except === undefined) || subjects
  if (caller.isAnonymous) return anonymous
  const excepted = subjects.except === undefined ? false : matchNames(subjects.except, caller)
  if (excepted === true) return false
  const named = any || matchNames(subjects, caller)
  if (named === false) return false
  const except = excepted === false ? undefined : excepted
  if (named === true) return except === undefined ? true : { ...noNames, any: true, anonymous: false, except }
  return { ...named, any: false, anonymous: false, except }
}

function ofKind(kind: SubjectKind, names: readonly string[]): readonly Subject[] {
  return [...new Set(names)].map((name) => ({ kind, name }))
}

/** Lists the subjects that are named, without their exceptions. */
export function listSubjects(subjects: NamedSubjects & Partial<Subjects>): readonly Subject[] {
  return [
    ...ofKind('user', subjects.users),
    ...ofKind('group', subjects.groups),
    ...ofKind('key', subjects.keys),
    ...(subjects.any === true ? [anySubject] : []),
    ...(subjects.anonymous === true ? [anonymousSubject] : []),
  ]
}

export const noNames: NamedSubjects = { users: [], groups: [], keys: [] }

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
