import type { Principal } from '../../identity/principal.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'

/** A caller in the numbers of the subjects that some policies name. */
export interface NumberedCaller {
  /** Of everybody who the caller is, in order; a rule concerns the caller if one of its numbers is among them. */
  readonly subjects: ReadonlySet<number>
  /** The same for callers whom all rules take for the same, conditions aside. */
  readonly key: string
}

/** Whom a rule names, exceptions aside, or excepts. */
type NumberedSubjects = NamedSubjects & Partial<Pick<Subjects, 'any' | 'anonymous'>>

/** Gives a number to everybody whom policies name, so that a decision compares numbers alone. */
export interface SubjectNumbers {
  /** The numbers of the named subjects, in order; subjects without a number get one. */
  numbersOf(subjects: NumberedSubjects): readonly number[]
  /** Who a caller is. Remembered for as long as the principal is there; nobody is numbered after the first question. */
  resolveCaller(principal: Principal): NumberedCaller
}

/** Every authenticated caller, and every caller without a credential. */
const anyNumber = 0
const anonymousNumber = 1

/** Numbers nobody yet. */
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

  function numbersOf({ name, method, credentialId, groups: own }: Principal): readonly number[] {
    if (method === 'anonymous') return [anonymousNumber]
    const found = [anyNumber, users.get(name), method === 'api-key' ? keys.get(credentialId) : undefined]
    for (const group of own) found.push(groups.get(group))
    return found.filter((number) => number !== undefined)
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
        const numbers = numbersOf(principal).toSorted((one, other) => one - other)
        callers.set(principal, (caller = { subjects: new Set(numbers), key: numbers.join() }))
      }
      return caller
    },
  }
}
