import type { Identifier } from '../../catalog-api/identifiers.ts'

/** Where names come from, in pages; the order in which it gives them should be that of `compareIdentifiers`. */
export interface ListingSource {
  /** Tells sources apart; a position names it. */
  readonly name: string
  /** The page that a token of the source leads to, the first without one, of about that many names. */
  read(token: string | undefined, size: number): Promise<SourcePage>
  /** What a name stands for; undefined where this gateway cannot be asked for it, or not at this source. */
  toIdentifier(name: string): Identifier | undefined
}

/** A page of a source; without a token it is the last. */
export interface SourcePage {
  readonly names: readonly string[]
  readonly next: string | undefined
}

/** Where a listing goes on. */
export interface ListingPosition {
  /** Nothing up to this id is wanted. */
  readonly startAfter?: Identifier | undefined
  /** The sources that have more, by name. */
  readonly sources: readonly (readonly [name: string, at: SourcePosition])[]
}

/** A page that was asked for with this token and size, behind the name that was taken last. */
interface SourcePosition {
  readonly token?: string | undefined
  readonly size?: number | undefined
  readonly after?: string | undefined
}

/** A page of a listing; without a position there is nothing more. */
export interface ListingPage {
  readonly ids: readonly Identifier[]
  readonly position: ListingPosition | undefined
}

/** What is wanted of a listing. */
export interface ListingPageRequest {
  readonly limit: number
  readonly startAfter: Identifier | undefined
  /** Undefined for the beginning. */
  readonly position: ListingPosition | undefined
  readonly isVisible: (id: Identifier) => boolean
}

/** So many pages of sources are read for one page, besides one of each: then it is answered as it is. */
const maxReads = 32
/** A page is full with so many characters of names, too. */
const maxPageCharacters = 4 * 1024 * 1024
const minReadSize = 100
const maxReadSize = 1000

/**
 * Reads the next page of what several sources list together: only what is to be shown, in order where every source
 * keeps it, and full up to the limit. Whether there is more is said as if nothing else existed: the page is the last
 * unless another id to show was found behind it, or too much was read without finding one.
 */
export async function readListingPage(
  sources: readonly ListingSource[],
  request: ListingPageRequest,
): Promise<ListingPage> {
  const { limit, startAfter, position } = request
  const cursors = selectSources(sources, position).map(([source, at]) => createCursor(source, at, request))
  const readsAllowed = maxReads + cursors.length
  const ids: Identifier[] = []
  let characters = 0
  let reads = 0
  const here = (): ListingPosition => ({
    startAfter,
    sources: cursors.flatMap((cursor) => {
      const at = cursor.position()
      return at === undefined ? [] : [[cursor.name, at] as const]
    }),
  })
  for (;;) {
    for (let spent = cursorsToRead(cursors); spent.length > 0; spent = cursorsToRead(cursors)) {
      if (reads + spent.length > readsAllowed) return { ids, position: here() }
      // One more than wanted tells whether there is more; where that was not enough, much is hidden.
      const size = reads === 0 ? Math.min(maxReadSize, Math.max(minReadSize, limit + 1)) : maxReadSize
      reads += spent.length
      await Promise.all(spent.map((cursor) => cursor.readPage(size)))
    }
    const first = findEarliest(cursors)
    const next = first?.peek()
    if (first === undefined || next === undefined) return { ids, position: undefined }
    if (ids.length >= limit || characters >= maxPageCharacters) return { ids, position: here() }
    ids.push(next)
    for (const part of next) characters += part.length
    first.advance()
  }
}

/** The order of listings: that of the names from the root down, each by the bytes of UTF-8. */
export function compareIdentifiers(one: Identifier, other: Identifier): number {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index += 1) {
    const [part = '', otherPart = ''] = [one[index], other[index]]
    if (part !== otherPart) return Buffer.compare(Buffer.from(part), Buffer.from(otherPart))
  }
  return one.length - other.length
}

/** Goes through what one source has to show. */
interface Cursor {
  readonly name: string
  /** The next id to show; undefined where the page has none any more. */
  peek(): Identifier | undefined
  /** Whether another page must be read to know what comes next. */
  needsRead(): boolean
  readPage(size: number): Promise<void>
  advance(): void
  /** Undefined at the end. */
  position(): SourcePosition | undefined
}

function createCursor(source: ListingSource, start: SourcePosition, request: ListingPageRequest): Cursor {
  const { isVisible, startAfter } = request
  let at: SourcePosition | undefined = start
  let page: SourcePage | undefined
  let index = 0
  let head: Identifier | undefined
  let behind = startAfter

  function advance(): void {
    head = undefined
    for (const names = page?.names ?? []; head === undefined && index < names.length; index += 1) {
      const id = source.toIdentifier(names[index] ?? '')
      if (id === undefined || (behind !== undefined && compareIdentifiers(id, behind) <= 0)) continue
      if (isVisible(id)) head = id
    }
    if (head !== undefined || page === undefined) return
    at = page.next === undefined ? undefined : { token: page.next }
    page = undefined
  }

  return {
    name: source.name,
    peek: () => head,
    needsRead: () => at !== undefined && page === undefined,
    async readPage(size) {
      const { token, after } = at ?? {}
      at = { token, size: at?.size ?? size, after }
      page = await source.read(token, at.size ?? size)
      const found = after === undefined ? -1 : page.names.indexOf(after)
      index = found + 1
      // The name that was taken last may be gone: what comes behind it is then told by the order.
      behind = after !== undefined && found === -1 ? (source.toIdentifier(after) ?? startAfter) : startAfter
      advance()
    },
    advance() {
      at = { ...at, after: page?.names[index - 1] }
      advance()
    },
    position: () => at,
  }
}

function selectSources(
  sources: readonly ListingSource[],
  position: ListingPosition | undefined,
): (readonly [ListingSource, SourcePosition])[] {
  if (position === undefined) return sources.map((source) => [source, {}])
  const locations = new Map(position.sources)
  return sources.flatMap((source) => {
    const at = locations.get(source.name)
    return at === undefined ? [] : [[source, at] as const]
  })
}

function cursorsToRead(cursors: readonly Cursor[]): Cursor[] {
  return cursors.filter((cursor) => cursor.needsRead())
}

function findEarliest([first, ...others]: readonly Cursor[]): Cursor | undefined {
  let found = first
  for (const cursor of others) {
    const [head, least] = [cursor.peek(), found?.peek()]
    if (head === undefined) continue
    if (least === undefined || compareIdentifiers(head, least) < 0) found = cursor
  }
  return found
}
