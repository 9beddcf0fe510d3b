/** Lists the options of a Connection header (RFC 9110, section 7.6.1), in lower case. */
export function parseConnectionTokens(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
}

/** Removes headers by name from a list of lower-case names and values in turn. */
export function removeHeaders(headers: readonly string[], names: ReadonlySet<string>): string[] {
  return headers.filter((_, index) => !names.has(headers[index - (index % 2)] ?? ''))
}
