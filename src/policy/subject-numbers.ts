import type { Principal } from '../identity/principal.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'

/** A caller in the numbers of the subjects that some policies name. */
export interface NumberedCaller {
  /** Of everybody who the caller is, in order; a rule concerns the caller if one of its numbers is among them. */
  readonly numbers: ReadonlySet<number>
  /** The same for callers whom all rules take for the same, conditions aside. */
  readonly key: string
}

/** Gives a number to everybody whom policies name, so that a decision compares numbers alone. */
export interface SubjectNumbers {
  /** The numbers of those whom a rule names, exceptions aside; new ones where they have none. */
  of(subjects: NamedSubjects & Partial<Pick<Subjects, 'any' | 'anonymous'>>): readonly number[]
  /** Who a caller is. Remembered for as long as the principal is there; nobody is numbered after the first question. */
  callerOf(principal: Principal): NumberedCaller
}

/** Every authenticated caller, and every caller without a credential. */
const anyNumber = 0
const anonymousNumber = 1

/** Numbers nobody yet. */
export function numberSubjects(): SubjectNumbers {
  const users = new Map<string, number>()
  const groups = new Map<string, number>()
  const keys = new Map<string, number>()
  const callers = new WeakMap<Principal, NumberedCaller>()
  let next = anonymousNumber + 1

  function addNumbers(all: number[], names: readonly string[], numbers: Map<string, number>): void {
    for (const name of names) {
      let number = numbers.get(name)
      if (number === undefined) numbers.set(name, (number = next++))
      all.push(number)
    }
  }

  function numbersOf({ name, method, credentialId, groups: own }: Principal): readonly number[] {
    if (method === 'anonymous') return [anonymousNumber]
    const found = [anyNumber, users.get(name), method === 'api-key' ? keys.get(credentialId) : undefined]
    for (const group of own) found.push(groups.get(group))
    return found.filter((number) => number !== undefined)
  }

  return {
    of(subjects) {
      const all: number[] = []
      if (subjects.any === true) all.push(anyNumber)
      if (subjects.anonymous === true) all.push(anonymousNumber)
      addNumbers(all, subjects.users, users)
      addNumbers(all, subjects.groups, groups)
      addNumbers(all, subjects.keys, keys)
      return distinct(all)
    },
    callerOf(principal) {
      let caller = callers.get(principal)
      if (caller === undefined) {
        const numbers = numbersOf(principal).toSorted((one, other) => one - other)
        callers.set(principal, (caller = { numbers: new Set(numbers), key: numbers.join() }))
      }
      return caller
    },
  }
}

/** Of so many, a look at those before is sooner done than a set is made. */
const few = 16

function distinct(numbers: readonly number[]): readonly number[] {
  const areDistinct =
    numbers.length <= few && numbers.every((number, index) => numbers.indexOf(number) === index)
  return areDistinct ? numbers.slice() : [...new Set(numbers)]
}
