import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** Only own files are loaded or run, no other page can frame the console, and nothing is cached. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Returns why a request is refused. The console needs no credentials, so it checks the origin: names other than
 * localhost may be those of an attacker (DNS rebinding), addresses cannot. Only links to the page may be cross-site.
 */
export function findBrowserRefusal(headers: IncomingHttpHeaders, isPage: boolean): string | undefined {
  const host = parseHost(headers.host ?? '')
  if (host !== 'localhost' && isIP(host) === 0) {
    return 'unexpected Host; the console is served for localhost and IP addresses only'
  }
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined
  const isLink =
    isPage && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return isLink ? undefined : 'cross-site requests to the console are refused'
}

/** Strips the port, and the brackets of an IPv6 address. */
function parseHost(header: string): string {
  return header
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}
