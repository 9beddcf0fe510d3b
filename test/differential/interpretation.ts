/** An operation on an object, as one reader of a request understands it. */
export interface Interpretation {
  readonly operation: string
  readonly id: readonly string[]
}

/** Returns equal texts for equal interpretations. */
export function formatInterpretation({ operation, id }: Interpretation): string {
  return `${operation} on ${JSON.stringify(id)}`
}
