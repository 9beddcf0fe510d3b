import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/**
 * Sent with every response of the console: only its own files are loaded or run, no other page can frame it, and
 * nothing is cached.
 */
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
 * Returns why a browser request is refused, or undefined. The console needs no credentials, so it checks the origin
 * instead. Names other than localhost may have been pointed here by an attacker (DNS rebinding); addresses cannot.
 * Cross-site requests are refused, except for links to the page itself.
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
