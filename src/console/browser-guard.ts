import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/**
 * Sent with everything that the console answers: nothing runs or is shown that is not a file of its own, no other
 * page holds it in a frame, no text becomes markup, and nothing stays in a cache.
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
 * Why a browser must not get the console, which asks for no credentials; undefined where it may. A name other than
 * localhost may be one that somebody else has pointed here (DNS rebinding); no address can be. A request that another
 * site caused is refused, but for a link to the page itself.
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

/** Without its port, and an IPv6 address without brackets. */
function parseHost(header: string): string {
  return header
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}
