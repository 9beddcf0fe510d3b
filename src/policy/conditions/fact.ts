/** The value of a fact that is never known; a condition that depends on it counts against the caller. */
export const unknown: unique symbol = Symbol('unknown')

/** The value of a fact that is not known yet, or that may be any. */
export const pending: unique symbol = Symbol('pending')

/** A fact of a request, or why there is no value. */
export type Fact<Value> = Value | typeof unknown | typeof pending

/** Thrown when a condition depends on a fact without a value. */
export class MissingFactError extends Error {
  override readonly name = 'FactWithoutValue'
  readonly isPending: boolean

  constructor(isPending: boolean) {
    // Thrown in the course of decisions, and never shown.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(isPending ? 'a fact that is not known yet' : 'a fact that is not known')
    Error.stackTraceLimit = stackTraceLimit
    this.isPending = isPending
  }
}

const unknownFactError = new MissingFactError(false)
const pendingFactError = new MissingFactError(true)

/** The value of a fact. Throws FactWithoutValue if it has none. */
export function factValue<Value>(fact: Fact<Value>): Value {
  if (fact === unknown) throw unknownFactError
  if (fact === pending) throw pendingFactError
  return fact
}
