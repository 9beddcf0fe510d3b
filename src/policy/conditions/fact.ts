/** Value of a fact that cannot be known; a condition that depends on it is decided against the caller. */
export const unknown: unique symbol = Symbol('unknown')

/** Value of a fact that is not known yet, or that may have any value. */
export const pending: unique symbol = Symbol('pending')

export type Fact<Value> = Value | typeof unknown | typeof pending

export class MissingFactError extends Error {
  override readonly name = 'MissingFactError'
  readonly isPending: boolean

  constructor(isPending: boolean) {
    // Thrown while deciding and never shown, so a stack trace would be wasted.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(isPending ? 'a fact that is not known yet' : 'a fact that is not known')
    Error.stackTraceLimit = stackTraceLimit
    this.isPending = isPending
  }
}

const unknownFactError = new MissingFactError(false)
export const pendingFactError = new MissingFactError(true)

export function factValue<Value>(fact: Fact<Value>): Value {
  if (fact === unknown) throw unknownFactError
  if (fact === pending) throw pendingFactError
  return fact
}

/** Returns a part of the input of a condition. A missing one is pending. */
export function known<Part>(part: Part | undefined): Part {
  if (part === undefined) throw pendingFactError
  return part
}
