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
