import { refusal, type CatalogError } from '../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../catalog-api/identifiers.ts'

export type Scheme = 'http' | 'https'

const absoluteForm = /^([a-z]+):\/\/([^/?#]*)(.*)$/

/**
 * Converts a request target in absolute form to origin form (RFC 9112, 3.2); others are returned as they are. Servers
 * differ on whether an absolute target overrides `host`, so both must be the same. Throws InvalidInput (400) for another
 * authority, another scheme than that of the listener, user information, and a target without a path.
 */
export function toOriginForm(target: string, host: string | undefined, scheme: Scheme): string {
  if (target.startsWith('/')) return target
  const match = absoluteForm.exec(target)
  if (match === null) return target
  const [, sentScheme = '', authority = '', path = ''] = match
  // Not quoted: it may contain a password.
  if (authority.includes('@'))
    throw malformedTarget('the request target contains user information; expected only host and port')
  if (sentScheme !== scheme) {
    throw malformedTarget(
      `the scheme of the request target is ${quoteForMessage(sentScheme)}; expected ${quoteForMessage(scheme)}, that of this port`,
    )
  }
  if (authority !== host) {
    throw malformedTarget(
      `the request target names the host ${quoteForMessage(authority)}, the host header ${quoteForMessage(host ?? '')}; ` +
        'expected the same in both',
    )
  }
  if (!path.startsWith('/'))
    throw malformedTarget('the request target has no path; expected one that starts with a slash')
  return path
}

function malformedTarget(message: string): CatalogError {
  return refusal('malformed_target', message)
}
