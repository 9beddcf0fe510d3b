import { z } from 'zod'

/** URL of a receiver other than a catalog; must not contain a password. */
export const receiverUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isWithoutPassword, 'expected a URL without user and password; set `credential` to authenticate')

function isWithoutPassword(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
