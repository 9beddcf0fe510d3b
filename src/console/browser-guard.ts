import type { IncomingHttpHeaders } from 'node:http'
import { isCrossSite, isLink, readSendingPage } from '../lib/http/sending-page.ts'

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
 * Returns why a request is refused. The console needs no credentials, so only its own page may read its data; other sites
 * may link to the page. The admin port has checked the host.
 */
export function findBrowserRefusal(headers: IncomingHttpHeaders, isPage: boolean): string | undefined {
  const page = readSendingPage((name) => headers[name]?.toString())
  if (page === undefined || !isCrossSite(page, headers.host, 'http')) return undefined
  return isPage && isLink(page, 'GET') ? undefined : 'cross-site requests to the console are refused'
}
