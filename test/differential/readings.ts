/** An operation on an object, as somebody reads it from a request. */
export interface Reading {
  readonly operation: string
  readonly id: readonly string[]
}

/** A reading as text, to be compared and shown. */
export function textOf({ operation, id }: Reading): string {
  return `${operation} on ${JSON.stringify(id)}`
}
