/** Headers of browsers about the page that sends a request (Fetch Metadata; RFC 6454). Other clients send none. */
export interface SendingPage {
  /** Relation of the page to the requested host, as in `cross-site`. */
  readonly site: string | undefined
  /** Scheme, host and port of the page, or `null`. Absent from most requests that only read. */
  readonly origin: string | undefined
  readonly mode: string | undefined
  /** The destination of the response, as in `document`. */
  readonly destination: string | undefined
}

export const sendingPageHeaders = ['sec-fetch-site', 'origin', 'sec-fetch-mode', 'sec-fetch-dest'] as const

/** Returns undefined for a request that no browser has sent: the mode alone is also sent by `fetch` of Node.js. */
export function readSendingPage(
  get: (name: (typeof sendingPageHeaders)[number]) => string | undefined,
): SendingPage | undefined {
  const site = get('sec-fetch-site')
  const origin = get('origin')
  if (site === undefined && origin === undefined) return undefined
  return { site, origin, mode: get('sec-fetch-mode'), destination: get('sec-fetch-dest') }
}

/**
 * Whether a page of another origin, or one without an origin, may have sent the request. `host` is that of the request,
 * `scheme` that of the server; behind a proxy that terminates TLS, pages of both schemes are its own.
 */
export function isCrossSite(
  { site, origin }: SendingPage,
  host: string | undefined,
  scheme: 'http' | 'https',
): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  if (origin === undefined) return false
  const authority = host?.toLowerCase()
  const isOwn =
    authority !== undefined &&
    (origin === `https://${authority}` || (scheme === 'http' && origin === `http://${authority}`))
  return !isOwn
}

/** Whether the request follows a link: the response becomes the page of a window, which the sender cannot read. */
export function isLink({ origin, mode, destination }: SendingPage, method: string): boolean {
  return method === 'GET' && origin === undefined && mode === 'navigate' && destination === 'document'
}
