import { z } from 'zod'

/** URL of a receiver other than a catalog; must not contain a password. */
export const receiverUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isWithoutPassword, 'expected a URL without user and password; set `credential` to authenticate')

/** Adds the path of a signal, such as `/v1/logs`, to an OTLP URL without a path (OTLP/HTTP exporters do so). */
export function toSignalUrl(text: string, path: string): string {
  const url = new URL(text)
  if (url.pathname === '/' && url.search === '') url.pathname = path
  return url.href
}

function isWithoutPassword(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
