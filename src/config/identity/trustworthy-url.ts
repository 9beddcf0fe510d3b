import { z } from 'zod'

/**
 * Whether what is fetched there is what was published there: over https, or from this machine itself. Keys that are
 * fetched in clear could be swapped on the way, and with them everybody's identity.
 */
export function isTrustworthyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  return protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** A setting that is such a URL. */
export const trustworthyUrlSchema = z.string().refine(isTrustworthyUrl, {
  error: 'expected an https URL without user and password (http only for this machine itself)',
})
