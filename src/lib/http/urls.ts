/** Returns the prefix of every path at a server whose URL may have a path: empty, or without a slash at its end. */
export function getBasePath({ pathname }: URL): string {
  return pathname.replace(/\/$/, '')
}

const hostAndPort = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=-]*(?:%[\da-f]{2}[\w.~!$&'()*+,;=-]*)*)(?::\d*)?$/i

/** Whether the text is a host with an optional port (RFC 9112, section 3.2): no user information, path, or blank. */
export function isHostAndPort(text: string): boolean {
  return hostAndPort.test(text)
}

/** Returns the host of a `host` header in lower case: without port, brackets of an IPv6 address, and a dot at its end. */
export function parseHostName(header: string): string {
  return header
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}

/** A DNS name in lower case. */
export const hostNamePattern = /^[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9][a-z0-9-]{0,62})*$/

/** Formats a host, which may be an IPv6 address, with its port. */
export function formatAuthority(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

interface RedirectResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/**
 * Describes where a redirect of `url` leads, to follow its status in a message: the host alone, because the rest may hold
 * a secret. Undefined for a response that is not a redirect.
 */
export function describeRedirect(
  { statusCode, headers: { location } }: RedirectResponse,
  url: string,
): string | undefined {
  if (statusCode < 300 || statusCode > 399 || typeof location !== 'string') return undefined
  return URL.canParse(location, url) ? ` to the host ${new URL(location, url).host}` : ''
}
