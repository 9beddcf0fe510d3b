interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

/** A page of a listing; the token is present if more entries follow. */
interface Page<Entry> {
  readonly entries: readonly Entry[]
  readonly token: { readonly page_token?: string }
}

/** Returns a page of entries in the byte order of their names in UTF-8. The token is the last name of the page. */
export function pageByName<Entry>(
  all: readonly Entry[],
  getName: (entry: Entry) => string,
  { page_token: after, limit }: PageRequest,
): Page<Entry> {
  const ordered = all.toSorted((left, right) => compareBytes(getName(left), getName(right)))
  const rest = after ? ordered.filter((entry) => compareBytes(getName(entry), after) > 0) : ordered
  const entries = rest.slice(0, limit)
  const last = entries.at(-1)
  return { entries, token: last && entries.length < rest.length ? { page_token: getName(last) } : {} }
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
