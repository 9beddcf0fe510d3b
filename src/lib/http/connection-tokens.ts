/** Lists the options of a Connection header (RFC 9110, section 7.6.1), in lower case. */
export function parseConnectionTokens(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
}
