import type { CatalogError, Identifier } from '../../catalog-api/index.ts'
import type { RunInSlices, Steps } from '../../lib/index.ts'

/** A paged source of names, which should be in the order of `compareIdentifiers`. */
export interface ListingSource {
  /** Unique name of the source, used in positions. */
  readonly name: string
  /** Reads the page of a source token, the first without one, of about `size` names. */
  read(token: string | undefined, size: number): Promise<SourcePage>
  /** The id of a name; undefined if this gateway cannot serve it, or not from this source. */
  toIdentifier(name: string): Identifier | undefined
  /** Returns why a listing lacks the source, if it may do without one that failed so; undefined if it fails as well. */
  findReason?(error: unknown): CatalogError | undefined
}

/** A page of a source; the last one if it has no token. */
export interface SourcePage {
  readonly names: readonly string[]
  readonly next: string | undefined
}

/** The token and size of a source page, and the name in it that was taken last. */
interface SourcePosition {
  readonly token?: string | undefined
  readonly size?: number | undefined
  readonly after?: string | undefined
}

/** Where a listing continues, as JSON. */
export interface ListingPosition {
  /** Only ids after this one are listed. */
  readonly startAfter?: Identifier | undefined
  /** Sources that have more, by name; undefined at the start of the listing. */
  readonly sources?: readonly (readonly [string, SourcePosition])[]
}

export interface ListingPageRequest {
  readonly limit: number
  readonly position: ListingPosition
  readonly isVisible: (id: Identifier) => boolean
  /** Runs the search for visible ids: upstreams may list very many that are not. */
  readonly runInSlices: RunInSlices
}

/** Maximum number of source pages that are read for one page, besides one of each source. */
const maxReads = 32
/** A page is also full with this many characters of names. */
const maxPageCharacters = 4 * 1024 * 1024
const minReadSize = 100
const maxReadSize = 1000

/**
 * Reads the next page of a listing merged from several sources, which is the last one if it has no position: visible ids only, ordered if every source is ordered,
 * filled up to the limit. Whether there are more pages depends on visible ids only: a page is the last one unless
 * another visible id was found behind it, or the maximum number of reads was reached.
 *
 * A source that is unavailable is left out. It stays in the position, so a later page contains its names if it is back
 * by then, though out of order. If every source that has more is unavailable and there is nothing to list, throws the error of
 * the first one, rather of one that is down than of one that lacks the operation.
 */
export async function readListingPage(sources: readonly ListingSource[], request: ListingPageRequest) {
  const { limit, runInSlices } = request
  const { startAfter, sources: remainingSources } = request.position
  const starts = remainingSources && new Map(remainingSources)
  const cursors = sources
    .filter(({ name }) => starts === undefined || starts.has(name))
    .map((source) => new Cursor(source, starts?.get(source.name) ?? {}, request))
  const readsAllowed = maxReads + cursors.length
  const ids: Identifier[] = []
  let characters = 0
  let reads = 0
  /** Takes ids until a source page ends, the page is full, or no id is left. */
  function* fill(): Steps<void> {
    for (;;) {
      for (const cursor of cursors) yield* cursor.findNext()
      const first = findEarliest(cursors)
      const next = first?.head
      const isFull = ids.length >= limit || characters >= maxPageCharacters
      if (cursors.some(({ isSpent }) => isSpent) || first === undefined || next === undefined || isFull)
        return
      ids.push(next)
      for (const part of next) characters += part.length
      first.take()
    }
  }
  for (;;) {
    await runInSlices(fill())
    const spent = cursors.filter(({ isSpent }) => isSpent)
    if (spent.length === 0 || reads + spent.length > readsAllowed) break
    // One more than needed shows whether there is more. If that was not enough, many names are hidden.
    const size = reads === 0 ? Math.min(maxReadSize, Math.max(minReadSize, limit + 1)) : maxReadSize
    reads += spent.length
    await Promise.all(spent.map((cursor) => cursor.readPage(size)))
  }
  const failures = new Map<string, CatalogError>()
  for (const { source, failure } of cursors) if (failure !== undefined) failures.set(source.name, failure)
  const errors = [...failures.values()]
  const error = errors.find(({ status }) => status >= 500) ?? errors[0]
  if (error !== undefined && errors.length === cursors.length && ids.length === 0) throw error
  const hasMore = cursors.some(({ head, isSpent }) => head !== undefined || isSpent)
  const remaining = cursors.flatMap(({ source, at }) =>
    at === undefined ? [] : [[source.name, at] as const],
  )
  const next: ListingPosition | undefined = hasMore ? { startAfter, sources: remaining } : undefined
  return { ids, position: next, failures }
}

/** The order of listings: name by name from the root, by UTF-8 bytes. */
export function compareIdentifiers(one: Identifier, other: Identifier): number {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index += 1) {
    const [part = '', otherPart = ''] = [one[index], other[index]]
    if (part !== otherPart) return Buffer.compare(Buffer.from(part), Buffer.from(otherPart))
  }
  return one.length - other.length
}

/** Iterates over the visible ids of one source. */
class Cursor {
  readonly source: ListingSource
  /** Where the next read begins; undefined at the end. */
  at: SourcePosition | undefined
  /** The next visible id of the page, if it was found. */
  head: Identifier | undefined
  /** Why the source is left out of this listing. */
  failure: CatalogError | undefined
  readonly #request: ListingPageRequest
  #page: SourcePage | undefined
  #index = 0
  /** Only ids after this one are listed. */
  #behind: Identifier | undefined

  constructor(source: ListingSource, start: SourcePosition, request: ListingPageRequest) {
    this.source = source
    this.at = start
    this.#request = request
  }

  /** Searches the page for the next visible id, unless it is known. */
  *findNext(): Steps<void> {
    if (this.#page === undefined) return
    const { names, next } = this.#page
    for (; this.head === undefined && this.#index < names.length; this.#index += 1) {
      yield
      const id = this.source.toIdentifier(names[this.#index] ?? '')
      if (id === undefined || (this.#behind !== undefined && compareIdentifiers(id, this.#behind) <= 0))
        continue
      if (this.#request.isVisible(id)) this.head = id
    }
    if (this.head !== undefined) return
    this.at = next === undefined ? undefined : { token: next }
    this.#page = undefined
  }

  /** Whether the next id requires another page. */
  get isSpent(): boolean {
    return this.at !== undefined && this.#page === undefined && this.failure === undefined
  }

  async readPage(requested: number): Promise<void> {
    const { token, after, size = requested } = this.at ?? {}
    this.at = { token, size, after }
    try {
      const { names, next } = await this.source.read(token, size)
      // A position is the name that was taken last, so no name may be repeated.
      this.#page = { names: [...new Set(names)], next }
    } catch (error) {
      this.failure = this.source.findReason?.(error)
      if (this.failure === undefined) throw error
      return
    }
    const { startAfter } = this.#request.position
    const found = after === undefined ? -1 : this.#page.names.indexOf(after)
    this.#index = found + 1
    // The name that was taken last may have been removed: the order then shows which names follow it.
    const isRemoved = after !== undefined && found === -1
    this.#behind = isRemoved ? (this.source.toIdentifier(after) ?? startAfter) : startAfter
  }

  /** Takes the visible id that was found. */
  take(): void {
    this.at = { ...this.at, after: this.#page?.names[this.#index - 1] }
    this.head = undefined
  }
}

function findEarliest(cursors: readonly Cursor[]): Cursor | undefined {
  let found: Cursor | undefined
  for (const cursor of cursors) {
    const { head } = cursor
    if (head === undefined) continue
    if (found?.head === undefined || compareIdentifiers(head, found.head) < 0) found = cursor
  }
  return found
}
