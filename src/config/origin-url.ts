import { z } from 'zod'

/** URL of a server without anything but scheme, host and port: other parts may contain a secret, and would be printed. */
export const originUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isOrigin, 'expected scheme, host and port only')

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, pathname, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '') && pathname === '/'
}
