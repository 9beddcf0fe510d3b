import type { PageRequest } from '../database/objects.ts'

/** A token before all names, which contain no control characters: that of an empty page at the start. */
const firstPageToken = '\u0001'

/**
 * Returns a page of ordered entries after the token of the request, and a token if more entries follow: the name of the last
 * entry, or the token of the request if the page is empty.
 */
export function takePage<Entry>(
  found: readonly Entry[],
  getName: (entry: Entry) => string,
  { page_token: after, limit }: PageRequest,
) {
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  const next = last ? getName(last) : after || firstPageToken
  return { entries, token: entries.length < found.length ? { page_token: next } : {} }
}

/** Like `takePage`, for all entries in any order; the page has the byte order of their names in UTF-8. */
export function pageByName<Entry>(
  all: readonly Entry[],
  getName: (entry: Entry) => string,
  request: PageRequest,
) {
  const { page_token: after } = request
  const ordered = all.toSorted((left, right) => compareBytes(getName(left), getName(right)))
  const rest = after ? ordered.filter((entry) => compareBytes(getName(entry), after) > 0) : ordered
  return takePage(rest, getName, request)
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
