import { z } from 'zod'
import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { RunInSlices, Steps } from '../../lib/async/run-in-slices.ts'

/** A paged source of names, which should be in the order of `compareIdentifiers`. */
export interface ListingSource {
  /** Unique name of the source, used in positions. */
  readonly name: string
  /**
   * Reads the page of a source token, the first without one, of about `size` names. Throws SourceUnavailable if a
   * listing may do without this source.
   */
  read(token: string | undefined, size: number): Promise<SourcePage>
  /** The id of a name; undefined if this gateway cannot serve it, or not from this source. */
  toIdentifier(name: string): Identifier | undefined
}

/** A source cannot be read now, and the listing continues without it. */
export class SourceUnavailable extends Error {
  override readonly name = 'SourceUnavailable'
  override readonly cause: CatalogError

  constructor(cause: CatalogError) {
    super(cause.message)
    this.cause = cause
  }
}

/** Why sources could not be read, by name. */
export type SourceFailures = ReadonlyMap<string, CatalogError>

/** A page of a source; the last one if it has no token. */
export interface SourcePage {
  readonly names: readonly string[]
  readonly next: string | undefined
}

/** The token and size of a source page, and the name in it that was taken last. */
const sourcePosition = z.object({
  token: z.string().optional(),
  size: z.number().optional(),
  after: z.string().optional(),
})
type SourcePosition = Readonly<z.output<typeof sourcePosition>>

const listingPosition = z.object({
  /** Only ids after this one are listed. */
  startAfter: z.array(z.string()).readonly().optional(),
  /** Sources that have more, by name. */
  sources: z.array(z.tuple([z.string(), sourcePosition]).readonly()).readonly(),
})
/** Where a listing continues. */
export type ListingPosition = Readonly<z.output<typeof listingPosition>>

/** Whether a value has the form of a position, as JSON represents it. */
export function isListingPosition(value: unknown): value is ListingPosition {
  return listingPosition.safeParse(value).success
}

/** A page of a listing; the last one if it has no position. */
export interface ListingPage {
  readonly ids: readonly Identifier[]
  readonly position: ListingPosition | undefined
  /** Sources whose names the page lacks. */
  readonly failures: SourceFailures
}

export interface ListingPageRequest {
  readonly limit: number
  readonly startAfter: Identifier | undefined
  /** Undefined for the first page. */
  readonly position: ListingPosition | undefined
  readonly isVisible: (id: Identifier) => boolean
  /** Creates the error of a listing of which no source could be read. */
  readonly createError: (failures: SourceFailures) => CatalogError
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
 * Reads the next page of a listing merged from several sources: visible ids only, ordered if every source is ordered,
 * filled up to the limit. Whether there are more pages depends on visible ids only: a page is the last one unless
 * another visible id was found behind it, or the maximum number of reads was reached.
 *
 * A source that is unavailable is left out. It stays in the position, so a later page contains its names if it is back
 * by then, though out of order. Throws the error of the request if every source that has more is unavailable and there is
 * nothing to list.
 */
export async function readListingPage(
  sources: readonly ListingSource[],
  request: ListingPageRequest,
): Promise<ListingPage> {
  const { limit, startAfter, position, runInSlices } = request
  const cursors = selectSources(sources, position).map(([source, at]) => createCursor(source, at, request))
  const readsAllowed = maxReads + cursors.length
  const ids: Identifier[] = []
  let characters = 0
  let reads = 0
  const endPage = (position: ListingPosition | undefined): ListingPage => ({
    ids,
    position,
    failures: collectFailures(cursors),
  })
  const here = (): ListingPosition => ({
    startAfter,
    sources: cursors.flatMap((cursor) => {
      const at = cursor.position()
      return at === undefined ? [] : [[cursor.name, at] as const]
    }),
  })
  /** Takes ids until a source page ends, the page is full, or no id is left. */
  function* fill(): Steps<'spent' | 'full' | 'over'> {
    for (;;) {
      for (const cursor of cursors) yield* cursor.findNext()
      if (cursors.some((cursor) => cursor.needsRead())) return 'spent'
      const first = findEarliest(cursors)
      const next = first?.peek()
      if (first === undefined || next === undefined) return 'over'
      if (ids.length >= limit || characters >= maxPageCharacters) return 'full'
      ids.push(next)
      for (const part of next) characters += part.length
      first.take()
    }
  }
  for (;;) {
    const state = await runInSlices(fill())
    if (state === 'full') return endPage(here())
    if (state === 'over') {
      const isFailure = cursors.length > 0 && cursors.every((cursor) => cursor.failure() !== undefined)
      if (isFailure && ids.length === 0) throw request.createError(collectFailures(cursors))
      return endPage(undefined)
    }
    const spent = cursors.filter((cursor) => cursor.needsRead())
    if (reads + spent.length > readsAllowed) return endPage(here())
    // One more than needed shows whether there is more. If that was not enough, many names are hidden.
    const size = reads === 0 ? Math.min(maxReadSize, Math.max(minReadSize, limit + 1)) : maxReadSize
    reads += spent.length
    await Promise.all(spent.map((cursor) => cursor.readPage(size)))
  }
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
interface Cursor {
  readonly name: string
  /** Searches the page for the next visible id, unless it is known. */
  findNext(): Steps<void>
  /** The visible id that was found; undefined if the page has no more. */
  peek(): Identifier | undefined
  /** Whether the next id requires another page. */
  needsRead(): boolean
  readPage(size: number): Promise<void>
  /** Takes the visible id that was found. */
  take(): void
  /** Undefined at the end. */
  position(): SourcePosition | undefined
  /** Why the source is left out of this page. */
  failure(): CatalogError | undefined
}

function createCursor(source: ListingSource, start: SourcePosition, request: ListingPageRequest): Cursor {
  const { isVisible, startAfter } = request
  let at: SourcePosition | undefined = start
  let page: SourcePage | undefined
  let index = 0
  let head: Identifier | undefined
  let behind = startAfter
  let failure: CatalogError | undefined

  function* findNext(): Steps<void> {
    if (page === undefined) return
    for (const { names } = page; head === undefined && index < names.length; index += 1) {
      yield
      const id = source.toIdentifier(names[index] ?? '')
      if (id === undefined || (behind !== undefined && compareIdentifiers(id, behind) <= 0)) continue
      if (isVisible(id)) head = id
    }
    if (head !== undefined) return
    at = page.next === undefined ? undefined : { token: page.next }
    page = undefined
  }

  return {
    name: source.name,
    findNext,
    peek: () => head,
    needsRead: () => at !== undefined && page === undefined && failure === undefined,
    async readPage(size) {
      const { token, after } = at ?? {}
      at = { token, size: at?.size ?? size, after }
      try {
        const { names, next } = await source.read(token, at.size ?? size)
        // A position is the name that was taken last, so no name may be repeated.
        page = { names: [...new Set(names)], next }
      } catch (error) {
        if (!(error instanceof SourceUnavailable)) throw error
        failure = error.cause
        return
      }
      const found = after === undefined ? -1 : page.names.indexOf(after)
      index = found + 1
      // The name that was taken last may have been removed: the order then shows which names follow it.
      behind = after !== undefined && found === -1 ? (source.toIdentifier(after) ?? startAfter) : startAfter
    },
    take() {
      at = { ...at, after: page?.names[index - 1] }
      head = undefined
    },
    position: () => at,
    failure: () => failure,
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

function collectFailures(cursors: readonly Cursor[]): SourceFailures {
  return new Map(
    cursors.flatMap((cursor) => {
      const failure = cursor.failure()
      return failure === undefined ? [] : [[cursor.name, failure] as const]
    }),
  )
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
