/** Header name (RFC 9110, 5.1). */
export const fieldNameGrammar = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Names in lower case and values of headers, alternately: a name may occur several times. */
export type HeaderList = readonly string[]

export function hasHeader(headers: HeaderList, name: string): boolean {
  return findHeader(headers, name) !== undefined
}

/** Returns the first value of a header; undefined if it is missing. */
export function findHeader(headers: HeaderList, name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1] ?? ''
  }
  return undefined
}

/** Returns all values of a header, in order. */
export function listHeader(headers: HeaderList, name: string): readonly string[] {
  return headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === name)
}

export function removeHeaders(headers: HeaderList, names: ReadonlySet<string>): string[] {
  return headers.filter((_, index) => !names.has(headers[index - (index % 2)] ?? ''))
}

/** Lists the options of a Connection header (RFC 9110, section 7.6.1), in lower case. */
export function parseConnectionTokens(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
}
