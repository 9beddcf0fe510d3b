import { z } from 'zod'
import { isLoopback } from '../listen-address.ts'

/**
 * Whether content from this URL is authentic: fetched over https or from this machine. Keys fetched in clear text could
 * be replaced in transit, and with them every identity.
 */
export function isTrustworthyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  return protocol === 'http:' && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))
}

export const trustworthyUrlSchema = z.string().refine(isTrustworthyUrl, {
  error: 'expected an https URL without user and password (http only for this machine itself)',
})
