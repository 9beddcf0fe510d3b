import type { Principal } from '../identity/principal.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'

/** A caller in the numbers of the subjects that some policies name. */
export interface NumberedCaller {
  /** Of everybody who the caller is, in order; a rule concerns the caller if one of its numbers is among them. */
  readonly numbers: ReadonlySet<number>
  /** The same for callers whom all rules take for the same, conditions aside. */
  readonly key: string
}

/** Whom a rule names, exceptions aside, or excepts. */
type Named = NamedSubjects & Partial<Pick<Subjects, 'any' | 'anonymous'>>

/** Gives a number to everybody whom policies name, so that a decision compares numbers alone. */
export interface SubjectNumbers {
  /** Writes the numbers of those who are named, in order; new ones where they have none. */
  write(subjects: Named, to: NumberWriter): void
  /** What `write` writes. */
  of(subjects: Named): readonly number[]
  /** Who a caller is. Remembered for as long as the principal is there; nobody is numbered after the first question. */
  callerOf(principal: Principal): NumberedCaller
}

/** Takes numbers, one after the other. */
export interface NumberWriter {
  push(number: number): void
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

  function write({ any, anonymous, users: named, groups: own, keys: held }: Named, to: NumberWriter): void {
    if (any === true) to.push(anyNumber)
    if (anonymous === true) to.push(anonymousNumber)
    writeNumbers(named, users, to)
    writeNumbers(own, groups, to)
    writeNumbers(held, keys, to)
  }

  function writeNumbers(names: readonly string[], numbers: Map<string, number>, to: NumberWriter): void {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] ?? ''
      let number = numbers.get(name)
      if (number === undefined) numbers.set(name, (number = next++))
      to.push(number)
    }
  }

  function numbersOf({ name, method, credentialId, groups: own }: Principal): readonly number[] {
    if (method === 'anonymous') return [anonymousNumber]
    const found = [anyNumber, users.get(name), method === 'api-key' ? keys.get(credentialId) : undefined]
    for (const group of own) found.push(groups.get(group))
    return found.filter((number) => number !== undefined)
  }

  return {
    write,
    of(subjects) {
      const numbers: number[] = []
      write(subjects, numbers)
      return numbers
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
