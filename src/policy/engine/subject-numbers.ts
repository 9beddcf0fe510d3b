import type { Principal } from '../../identity/index.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import type { KnownCaller } from './subject.ts'

export interface NumberedCaller {
  /** A rule names the caller if one of its numbers is in the set. */
  readonly subjects: ReadonlySet<number>
  /** For analyses: then `subjects` is empty, unless all of the caller is known. */
  readonly known: KnownCaller | undefined
}

type NumberedSubjects = NamedSubjects & Partial<Pick<Subjects, 'any' | 'anonymous'>>

/** Maps subjects to numbers, so that decisions compare numbers only. */
export interface SubjectNumbers {
  /** Returns the numbers of the named subjects; assigns numbers to new subjects. */
  numbersOf(subjects: NumberedSubjects): readonly number[]
  /** Cached per principal. All rules must be compiled first: subjects numbered later are missed. */
  resolveCaller(principal: Principal): NumberedCaller
  resolveKnown(caller: KnownCaller): NumberedCaller
}

/** Numbers of every authenticated caller and of every anonymous caller. */
const anyNumber = 0
const anonymousNumber = 1

export function createSubjectNumbers(): SubjectNumbers {
  const users = new Map<string, number>()
  const groups = new Map<string, number>()
  const keys = new Map<string, number>()
  const callers = new WeakMap<Principal, NumberedCaller>()
  let next = anonymousNumber + 1

  function numberOf(name: string, numbers: Map<string, number>): number {
    let number = numbers.get(name)
    if (number === undefined) numbers.set(name, (number = next++))
    return number
  }

  function numbersOf(name: string, key: string, callerGroups: ReadonlySet<string>): ReadonlySet<number> {
    const found = [anyNumber, users.get(name), keys.get(key)]
    for (const group of callerGroups) found.push(groups.get(group))
    return new Set(found.filter((number) => number !== undefined))
  }

  return {
    numbersOf(named) {
      const numbers: number[] = []
      if (named.any === true) numbers.push(anyNumber)
      if (named.anonymous === true) numbers.push(anonymousNumber)
      for (const name of named.users) numbers.push(numberOf(name, users))
      for (const name of named.groups) numbers.push(numberOf(name, groups))
      for (const name of named.keys) numbers.push(numberOf(name, keys))
      return numbers
    },
    resolveCaller(principal) {
      let caller = callers.get(principal)
      if (caller === undefined) {
        const { name, method, credentialId, groups: callerGroups } = principal
        const key = method === 'api-key' ? credentialId : ''
        const numbers =
          method === 'anonymous' ? new Set([anonymousNumber]) : numbersOf(name, key, callerGroups)
        callers.set(principal, (caller = { subjects: numbers, known: undefined }))
      }
      return caller
    },
    resolveKnown(known) {
      const { isAnonymous, user, key, groups: callerGroups, excludedGroups } = known
      const isWhole =
        isAnonymous === false && user !== undefined && key !== undefined && excludedGroups === 'all'
      return { subjects: isWhole ? numbersOf(user, key, callerGroups) : new Set(), known }
    },
  }
}
