/** Whether a JSON value is a list of strings. The empty list is one. */
export function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
