import { LRUCache } from 'lru-cache'
import { getOperation, operationNames, operations, type OperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { idToJson } from '../records/json-text.ts'
import type { IntentEntry, CreatedVersion, ObjectId, OutOfBandVersions } from '../records/audit-record.ts'

/** What an intent says that its history needs. */
export type ChangeIntent = Pick<
  IntentEntry,
  'request' | 'operation' | 'id' | 'objects' | 'before' | 'details'
>

/** A change that has begun, and the tables whose versions it may change. */
export interface StartedChange {
  readonly ticket: number
  readonly request: string
  /** The newest version of its branch that was known when it began. */
  readonly before: number | undefined
  /** Whether the id may name another dataset after it. */
  readonly restarts: boolean
  readonly tables: readonly TableKey[]
}

/**
 * How it ended: with these versions, and others unknown in tables of which none is here; without a change of any
 * version; or so that nobody knows the versions.
 */
export type ChangeEffect = readonly CreatedVersion[] | 'nothing' | 'unclear'

/** A table. */
interface TableKey {
  readonly id: ObjectId
  /** The id as JSON: keys of maps are compared by it. */
  readonly key: string
}

/** The versions of a branch. */
interface BranchVersions {
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

interface TableVersions {
  readonly open: Set<number>
  readonly branches: Map<string, BranchVersions>
  /** The ticket from which on changes were begun behind all that nobody knows. */
  restartedFrom: number
}

const maxTables = 10_000
const maxBranches = 100
const maxMakers = 64
const maxAhead = 1_000

/** Changes of a table that leave its versions as they are. */
const versionlessOperations: ReadonlySet<string> = new Set<OperationName>([
  'CreateTableTag',
  'DeleteTableTag',
  'UpdateTableTag',
])

/** The operations that may make or remove versions of the table they are on. */
const versioningPermissions: ReadonlySet<Permission> = new Set<Permission>(
  operationNames.filter((name) => {
    const { object, effect } = operations[name]
    return object === 'table' && effect !== 'read' && !versionlessOperations.has(name)
  }),
)

const noGaps: readonly OutOfBandVersions[] = []

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
  readonly #tables = new LRUCache<string, TableVersions>({ max: maxTables })
  #nextTicket = 1

  /** A change is about to be sent. */
  begin(intent: ChangeIntent): StartedChange {
    const ticket = this.#nextTicket++
    const tables = listVersionedTables(intent)
    for (const { key } of tables) this.#getTable(key, ticket).open.add(ticket)
    const { request, operation, before } = intent
    return { ticket, request, before, restarts: getOperation(operation).versions === 'restart', tables }
  }

  /**
   * A change has ended; one whose outcome is unknown ends when that is resolved. Answers the versions that are there
   * and were not made through this log, as far as this end shows it.
   */
  end(change: StartedChange, effect: ChangeEffect): readonly OutOfBandVersions[] {
    let outOfBand = noGaps
    for (const { id, key } of change.tables) {
      const table = this.#tables.get(key)
      if (table === undefined) continue
      table.open.delete(change.ticket)
      if (effect !== 'nothing') this.#applyEffect(table, id, effect === 'unclear' ? [] : effect, change)
      const gaps = this.#findGaps(id, table)
      if (gaps.length > 0) outOfBand = [...outOfBand, ...gaps]
    }
    return outOfBand
  }

  /** The newest version of a branch that passed; undefined where none is known. */
  getNewestVersion(id: ObjectId, branch: string | undefined): number | undefined {
    const line = this.#tables.peek(idToJson(id))?.branches.get(branch ?? '')
    if (line?.isFirm !== true) return undefined
    return Math.max(line.newest, ...line.ahead.keys(), ...line.observed.map(({ version }) => version))
  }

  /** The request that made that version; undefined if no response stated it, or long ago. */
  findMaker(id: ObjectId, branch: string | undefined, version: number): string | undefined {
    return this.#tables
      .peek(idToJson(id))
      ?.branches.get(branch ?? '')
      ?.makers.get(version)
  }

  #getTable(key: string, ticket: number): TableVersions {
    let table = this.#tables.get(key)
    if (table === undefined) {
      table = { open: new Set(), branches: new Map(), restartedFrom: ticket }
      this.#tables.set(key, table)
    }
    return table
  }

  /** The versions of it among those that were made; where there are none, it has others, and nobody knows which. */
  #applyEffect(
    table: TableVersions,
    id: ObjectId,
    made: readonly CreatedVersion[],
    change: StartedChange,
  ): void {
    let isHere = false
    for (const { id: ofTable, branch = '', version, observed } of made) {
      if (!isSameId(ofTable, id)) continue
      isHere = true
      if (observed !== true) this.#addCreated(table, branch, version, change)
      else if (change.restarts) this.#restartBranch(table, branch, version)
      else this.#addObserved(table, branch, version, change)
    }
    // What comes after it may be another table of the same name.
    if (!isHere) this.#reset(table)
  }

  #reset(table: TableVersions): void {
    table.branches.clear()
    table.restartedFrom = this.#nextTicket
  }

  /** A change made this version. */
  #addCreated(
    table: TableVersions,
    branch: string,
    version: number,
    { ticket, request }: StartedChange,
  ): void {
    const known = table.branches.get(branch)
    const line = known?.isFirm === true ? known : this.#startBranch(table, branch, version, ticket)
    line.makers.set(version, request)
    const [oldest] = line.makers.keys()
    if (line.makers.size > maxMakers && oldest !== undefined) line.makers.delete(oldest)
    if (version <= line.newest) return
    line.ahead.set(version, this.#nextTicket)
    absorbAhead(line)
    // Something is open for so long that nothing can be said any more.
    if (line.ahead.size > maxAhead) closeGap(line)
  }

  /** A change made this version or an earlier one. */
  #addObserved(
    table: TableVersions,
    branch: string,
    version: number,
    { ticket, before = 0 }: StartedChange,
  ): void {
    // The change made no version, or the upstream makes it later.
    if (version <= before) return this.#reset(table)
    const line = table.branches.get(branch)
    if (line?.isFirm !== true) {
      this.#startBranch(table, branch, version, ticket)
      return
    }
    line.observed.push({ version, ticket, bound: this.#nextTicket })
    // The changes overlap for so long that nothing can be said any more.
    if (line.observed.length > maxAhead) this.#reset(table)
  }

  /** The id may name another dataset, whose newest version is this one. */
  #restartBranch(table: TableVersions, branch: string, version: number): void {
    this.#reset(table)
    // A change that is still open may belong to either dataset.
    if (table.open.size === 0)
      table.branches.set(branch, createBranchVersions(version, true, this.#nextTicket))
  }

  /** The versions of a branch that had no firm ones before this one. */
  #startBranch(table: TableVersions, branch: string, version: number, ticket: number): BranchVersions {
    const isFirm = ticket >= table.restartedFrom
    const unsure = table.branches.get(branch)
    if (unsure === undefined && table.branches.size >= maxBranches) this.#reset(table)
    const line = unsure ?? createBranchVersions(version, isFirm, this.#nextTicket)
    line.isFirm = isFirm
    line.newest = Math.max(line.newest, version)
    line.firmFrom = this.#nextTicket
    table.branches.set(branch, line)
    return line
  }

  /** The versions that were made elsewhere, as far as the changes that have ended show it. */
  #findGaps(id: ObjectId, table: TableVersions): readonly OutOfBandVersions[] {
    let gaps: OutOfBandVersions[] | undefined
    for (const [branch, line] of table.branches) {
      if (line.observed.length > 0) {
        if (!isResolvable(line, table.open)) continue
        if (!resolveObserved(line)) {
          this.#reset(table)
          break
        }
      }
      if (line.ahead.size === 0) continue
      gaps ??= []
      for (
        let gap = findClosedGap(line, table.open);
        gap !== undefined;
        gap = findClosedGap(line, table.open)
      ) {
        gaps.push({ id, ...(branch !== '' && { branch }), ...gap })
        closeGap(line)
      }
    }
    return gaps ?? noGaps
  }
}

function createBranchVersions(newest: number, isFirm: boolean, firmFrom: number): BranchVersions {
  return { newest, isFirm, firmFrom, ahead: new Map(), observed: [], makers: new Map() }
}

/** The branch that a change names; the main branch has no name. */
export function getBranch(details: ChangeIntent['details']): string | undefined {
  const branch = details?.['branch']
  return typeof branch === 'string' && branch !== '' && branch !== 'main' ? branch : undefined
}

/** The tables whose versions a change may change, each once. */
function listVersionedTables({ operation, id, objects = [] }: ChangeIntent): TableKey[] {
  if (versioningPermissions.has(operation)) return [createTableKey(id)]
  if (operations[operation].object !== 'none') return []
  const locations = objects
    .filter(({ operation }) => versioningPermissions.has(operation))
    .map(({ id }) => createTableKey(id))
  return [...new Map(locations.map((location) => [location.key, location])).values()]
}

function createTableKey(id: ObjectId): TableKey {
  return { id, key: idToJson(id) }
}

function isSameId(one: ObjectId, other: ObjectId): boolean {
  return one === other || (one.length === other.length && one.every((part, index) => part === other[index]))
}

/** Whether no change is open that was open when one of the observed ones ended. */
function isResolvable({ observed }: BranchVersions, open: ReadonlySet<number>): boolean {
  const bound = observed.at(-1)?.bound ?? 0
  for (const ticket of open) if (ticket < bound) return false
  return true
}

/**
 * Gives each observed change the highest version up to its bound that is free; the order of the changes does not matter
 * for the set of versions that are taken. Returns false if none is free: the change made no version, or the upstream
 * makes it later.
 */
function resolveObserved(line: BranchVersions): boolean {
  const bound = line.observed.at(-1)?.bound ?? 0
  // A change that may have made a version before the first known one may find none free, so it comes last.
  const observed = line.observed.splice(0).toSorted((one, other) => other.ticket - one.ticket)
  for (const { version, ticket } of observed) {
    let free = version
    while (line.ahead.has(free)) free -= 1
    if (free > line.newest) line.ahead.set(free, bound)
    else if (ticket >= line.firmFrom) return false
  }
  absorbAhead(line)
  return true
}

/** The first gap, once nothing is open that may fill it. */
function findClosedGap(
  line: BranchVersions,
  open: ReadonlySet<number>,
): { from: number; to: number } | undefined {
  const first = Math.min(...line.ahead.keys())
  const bound = line.ahead.get(first)
  if (bound === undefined) return undefined
  for (const ticket of open) if (ticket < bound) return undefined
  return { from: line.newest + 1, to: first - 1 }
}

function closeGap(line: BranchVersions): void {
  line.newest = Math.min(...line.ahead.keys()) - 1
  absorbAhead(line)
}

function absorbAhead(line: BranchVersions): void {
  while (line.ahead.delete(line.newest + 1)) line.newest += 1
}
