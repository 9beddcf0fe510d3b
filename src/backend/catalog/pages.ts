interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

/** A token before all names, which contain no control characters: that of an empty page at the start. */
export const firstPageToken = '\u0001'

/** A page of a listing; the token is present if more entries follow. */
interface Page<Entry> {
  readonly entries: readonly Entry[]
  readonly token: { readonly page_token?: string }
}

/**
 * Returns a page of entries in the byte order of their names in UTF-8. The token is the last name of the page, or that of
 * the request if the page is empty.
 */
export function pageByName<Entry>(
  all: readonly Entry[],
  getName: (entry: Entry) => string,
  { page_token: after, limit }: PageRequest,
): Page<Entry> {
  const ordered = all.toSorted((left, right) => compareBytes(getName(left), getName(right)))
  const rest = after ? ordered.filter((entry) => compareBytes(getName(entry), after) > 0) : ordered
  const entries = rest.slice(0, limit)
  if (entries.length === rest.length) return { entries, token: {} }
  const last = entries.at(-1)
  return { entries, token: { page_token: last ? getName(last) : after || firstPageToken } }
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
