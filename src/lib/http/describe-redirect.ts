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
