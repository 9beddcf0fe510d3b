/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the members of a JSON object; none for any other value. */
export function getMembers(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}
