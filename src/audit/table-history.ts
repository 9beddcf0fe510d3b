import { LRUCache } from 'lru-cache'
import { operationNamed, operationNames, operations, type OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { idText } from './json-text.ts'
import type { IntentEntry, MadeVersion, ObjectId, OutOfBand } from './records.ts'

/** What an intent says that its history needs. */
export type BegunIntent = Pick<IntentEntry, 'request' | 'operation' | 'id' | 'objects' | 'before' | 'details'>

/** A change that has begun, and the tables whose versions it may change. */
export interface BegunChange {
  readonly ticket: number
  readonly request: string
  /** The newest version of its branch that was known when it began. */
  readonly before: number | undefined
  /** Whether the id may name another dataset after it. */
  readonly restarts: boolean
  readonly places: readonly Place[]
}

/**
 * How it ended: with these versions, and others unknown in tables of which none is here; without a change of any
 * version; or so that nobody knows the versions.
 */
export type ChangeEnd = readonly MadeVersion[] | 'nothing' | 'unclear'

/** A table. */
interface Place {
  readonly id: ObjectId
  /** The id as JSON: keys of maps are compared by it. */
  readonly key: string
}

/** The versions of a branch. */
interface Line {
  /** Up to here every version was seen, since the first that was. */
  newest: number
  /** Whether one of them was begun behind all that nobody knows: then what comes after them is known too. */
  isFirm: boolean
  /** Changes with an earlier ticket may have made versions before the first one that was seen. */
  firmFrom: number
  /** Those beyond a gap, with the ticket from which on no change can have made what is missing. */
  readonly ahead: Map<number, number>
  /** Ended changes whose own version is not settled yet, in the order of their ends. */
  readonly observed: Observed[]
  /** The requests that made the last ones, as responses state it. */
  readonly makers: Map<number, string>
}

/** A change that made this version or an earlier one. */
interface Observed {
  readonly version: number
  readonly ticket: number
  /** The ticket from which on changes make later versions than this one. */
  readonly bound: number
}

interface Table {
  readonly open: Set<number>
  readonly lines: Map<string, Line>
  /** The ticket from which on changes were begun behind all that nobody knows. */
  anewFrom: number
}

const rememberedTables = 10_000
const rememberedBranches = 100
const rememberedMakers = 64
const rememberedAhead = 1_000

/** Changes of a table that leave its versions as they are. */
const versionless: ReadonlySet<string> = new Set<OperationName>([
  'CreateTableTag',
  'DeleteTableTag',
  'UpdateTableTag',
])

/** The operations that may make or remove versions of the table they are on. */
const versioning: ReadonlySet<Permission> = new Set<Permission>(
  operationNames.filter((name) => {
    const { object, effect } = operations[name]
    return object === 'table' && effect !== 'read' && !versionless.has(name)
  }),
)

const noGaps: readonly OutOfBand[] = []

/**
 * The versions that passed this log, table by table, the tables that changed last. Versions of a branch have numbers
 * without gaps, so one whose predecessor never passed shows that somebody went another way. As answers of concurrent
 * changes overtake each other, a gap counts only when every change has ended that may have made what is missing.
 *
 * A version that was observed after a change is an upper bound of the version that the change made. It is settled when
 * all changes have ended that were concurrent with it: it takes the highest number up to its bound that nothing else
 * takes. So as many versions are flagged as were made elsewhere, and none that a response states.
 */
export class TableHistory {
  readonly #tables = new LRUCache<string, Table>({ max: rememberedTables })
  #nextTicket = 1

  /** A change is about to be sent. */
  begin(intent: BegunIntent): BegunChange {
    const ticket = this.#nextTicket++
    const places = placesOf(intent)
    for (const { key } of places) this.#table(key, ticket).open.add(ticket)
    const { request, operation, before } = intent
    return { ticket, request, before, restarts: operationNamed(operation).versions === 'restart', places }
  }

  /**
   * A change has ended; one whose outcome is unknown ends when that is resolved. Answers the versions that are there
   * and were not made through this log, as far as this end shows it.
   */
  end(change: BegunChange, how: ChangeEnd): readonly OutOfBand[] {
    let outOfBand = noGaps
    for (const { id, key } of change.places) {
      const table = this.#tables.get(key)
      if (table === undefined) continue
      table.open.delete(change.ticket)
      if (how !== 'nothing') this.#note(table, id, how === 'unclear' ? [] : how, change)
      const gaps = this.#gapsOf(id, table)
      if (gaps.length > 0) outOfBand = [...outOfBand, ...gaps]
    }
    return outOfBand
  }

  /** The newest version of a branch that passed; undefined where none is known. */
  newest(id: ObjectId, branch: string | undefined): number | undefined {
    const line = this.#tables.peek(idText(id))?.lines.get(branch ?? '')
    if (line?.isFirm !== true) return undefined
    return Math.max(line.newest, ...line.ahead.keys(), ...line.observed.map(({ version }) => version))
  }

  /** The request that made that version; undefined if no response stated it, or long ago. */
  makerOf(id: ObjectId, branch: string | undefined, version: number): string | undefined {
    return this.#tables
      .peek(idText(id))
      ?.lines.get(branch ?? '')
      ?.makers.get(version)
  }

  #table(key: string, ticket: number): Table {
    let table = this.#tables.get(key)
    if (table === undefined) {
      table = { open: new Set(), lines: new Map(), anewFrom: ticket }
      this.#tables.set(key, table)
    }
    return table
  }

  /** The versions of it among those that were made; where there are none, it has others, and nobody knows which. */
  #note(table: Table, id: ObjectId, made: readonly MadeVersion[], change: BegunChange): void {
    let isHere = false
    for (const { id: ofTable, branch = '', version, observed } of made) {
      if (!isSameId(ofTable, id)) continue
      isHere = true
      if (observed !== true) this.#see(table, branch, version, change)
      else if (change.restarts) this.#restart(table, branch, version)
      else this.#observe(table, branch, version, change)
    }
    // What comes after it may be another table of the same name.
    if (!isHere) this.#beginAnew(table)
  }

  #beginAnew(table: Table): void {
    table.lines.clear()
    table.anewFrom = this.#nextTicket
  }

  /** A change made this version. */
  #see(table: Table, branch: string, version: number, { ticket, request }: BegunChange): void {
    const known = table.lines.get(branch)
    const line = known?.isFirm === true ? known : this.#first(table, branch, version, ticket)
    line.makers.set(version, request)
    const [oldest] = line.makers.keys()
    if (line.makers.size > rememberedMakers && oldest !== undefined) line.makers.delete(oldest)
    if (version <= line.newest) return
    line.ahead.set(version, this.#nextTicket)
    absorb(line)
    // Something is open for so long that nothing can be said any more.
    if (line.ahead.size > rememberedAhead) closeGap(line)
  }

  /** A change made this version or an earlier one. */
  #observe(table: Table, branch: string, version: number, { ticket, before = 0 }: BegunChange): void {
    // The change made no version, or the upstream makes it later.
    if (version <= before) return this.#beginAnew(table)
    const line = table.lines.get(branch)
    if (line?.isFirm !== true) {
      this.#first(table, branch, version, ticket)
      return
    }
    line.observed.push({ version, ticket, bound: this.#nextTicket })
    // The changes overlap for so long that nothing can be said any more.
    if (line.observed.length > rememberedAhead) this.#beginAnew(table)
  }

  /** The id may name another dataset, whose newest version is this one. */
  #restart(table: Table, branch: string, version: number): void {
    this.#beginAnew(table)
    // A change that is still open may belong to either dataset.
    if (table.open.size === 0) table.lines.set(branch, newLine(version, true, this.#nextTicket))
  }

  /** The versions of a branch that had no firm ones before this one. */
  #first(table: Table, branch: string, version: number, ticket: number): Line {
    const isFirm = ticket >= table.anewFrom
    const unsure = table.lines.get(branch)
    if (unsure === undefined && table.lines.size >= rememberedBranches) this.#beginAnew(table)
    const line = unsure ?? newLine(version, isFirm, this.#nextTicket)
    line.isFirm = isFirm
    line.newest = Math.max(line.newest, version)
    line.firmFrom = this.#nextTicket
    table.lines.set(branch, line)
    return line
  }

  /** The versions that were made elsewhere, as far as the changes that have ended show it. */
  #gapsOf(id: ObjectId, table: Table): readonly OutOfBand[] {
    let gaps: OutOfBand[] | undefined
    for (const [branch, line] of table.lines) {
      if (line.observed.length > 0) {
        if (!isSettled(line, table.open)) continue
        if (!settle(line)) {
          this.#beginAnew(table)
          break
        }
      }
      if (line.ahead.size === 0) continue
      gaps ??= []
      for (let gap = closedGap(line, table.open); gap !== undefined; gap = closedGap(line, table.open)) {
        gaps.push({ id, ...(branch !== '' && { branch }), ...gap })
        closeGap(line)
      }
    }
    return gaps ?? noGaps
  }
}

function newLine(newest: number, isFirm: boolean, firmFrom: number): Line {
  return { newest, isFirm, firmFrom, ahead: new Map(), observed: [], makers: new Map() }
}

/** The branch that a change names; the main branch has no name. */
export function branchOf(details: BegunIntent['details']): string | undefined {
  const branch = details?.['branch']
  return typeof branch === 'string' && branch !== '' && branch !== 'main' ? branch : undefined
}

/** The tables whose versions a change may change, each once. */
function placesOf({ operation, id, objects = [] }: BegunIntent): Place[] {
  if (versioning.has(operation)) return [placeOf(id)]
  if (operations[operation].object !== 'none') return []
  const places = objects.filter(({ operation }) => versioning.has(operation)).map(({ id }) => placeOf(id))
  return [...new Map(places.map((place) => [place.key, place])).values()]
}

function placeOf(id: ObjectId): Place {
  return { id, key: idText(id) }
}

function isSameId(one: ObjectId, other: ObjectId): boolean {
  return one === other || (one.length === other.length && one.every((part, index) => part === other[index]))
}

/** Whether no change is open that was open when one of the observed ones ended. */
function isSettled({ observed }: Line, open: ReadonlySet<number>): boolean {
  const bound = observed.at(-1)?.bound ?? 0
  for (const ticket of open) if (ticket < bound) return false
  return true
}

/**
 * Gives each observed change the highest version up to its bound that is free; the order of the changes does not matter
 * for the set of versions that are taken. Returns false if none is free: the change made no version, or the upstream
 * makes it later.
 */
function settle(line: Line): boolean {
  const bound = line.observed.at(-1)?.bound ?? 0
  // A change that may have made a version before the first known one may find none free, so it comes last.
  const observed = line.observed.splice(0).toSorted((one, other) => other.ticket - one.ticket)
  for (const { version, ticket } of observed) {
    let free = version
    while (line.ahead.has(free)) free -= 1
    if (free > line.newest) line.ahead.set(free, bound)
    else if (ticket >= line.firmFrom) return false
  }
  absorb(line)
  return true
}

/** The first gap, once nothing is open that may fill it. */
function closedGap(line: Line, open: ReadonlySet<number>): { from: number; to: number } | undefined {
  const first = Math.min(...line.ahead.keys())
  const bound = line.ahead.get(first)
  if (bound === undefined) return undefined
  for (const ticket of open) if (ticket < bound) return undefined
  return { from: line.newest + 1, to: first - 1 }
}

function closeGap(line: Line): void {
  line.newest = Math.min(...line.ahead.keys()) - 1
  absorb(line)
}

function absorb(line: Line): void {
  while (line.ahead.delete(line.newest + 1)) line.newest += 1
}
