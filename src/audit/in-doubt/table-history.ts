import { LRUCache } from 'lru-cache'
import { findOperation, getOperation, operationNames } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { parseFactDetails } from '../records/fact-details.ts'
import { idToJson } from '../records/json-text.ts'
import type { IntentEntry, CreatedVersion, ObjectId, OutOfBandVersions } from '../records/audit-record.ts'

export type ChangeIntent = Pick<
  IntentEntry,
  'request' | 'operation' | 'id' | 'effect' | 'objects' | 'before' | 'details'
>

/** A change in progress and the tables whose versions it may change. */
export interface StartedChange {
  readonly ticket: number
  readonly request: string
  /** The newest known version of its branch when it began. */
  readonly before: number | undefined
  /** Whether the id may refer to another dataset afterwards, or to none. */
  readonly restartsVersions: boolean
  /** Whether the table has no version afterwards. */
  readonly declaresTable: boolean
  /** The branch that it creates or removes, if it concerns only this one, which is not main. */
  readonly replacedBranch: string | undefined
  readonly tables: readonly TableKey[]
}

/** A read of the newest version of the main branch of a table. */
export interface StartedRead {
  readonly ticket: number
  readonly table: TableKey
  /** Whether a change of the table was open. */
  readonly isDisturbed: boolean
}

/** The newest version that is known here, and the one that a read has found instead. */
export interface VersionDifference {
  readonly before: number
  readonly version: number
}

/**
 * The created versions, and unknown ones in unlisted tables of the change; no version changed; unknown versions; or a
 * job of the upstream, which creates versions later.
 */
export type ChangeEffect = readonly CreatedVersion[] | 'nothing' | 'unclear' | 'job'

interface TableKey {
  readonly id: ObjectId
  readonly key: string
}

interface BranchVersions {
  /** All versions from the first seen one up to this one were seen. */
  newest: number
  /** Whether one of them was started after all unknown changes: then its successors are known, too. */
  isFirm: boolean
  /** Changes with an earlier ticket may have created versions before the first seen one. */
  firmFrom: number
  /** Versions after a gap, each with the ticket from which on no change can have created the missing ones. */
  readonly ahead: Map<number, number>
  /** Ended changes whose own version is not resolved yet, in the order of their ends. */
  readonly observed: Observed[]
  /** Requests that created the latest versions, as stated by responses. */
  readonly creators: Map<number, string>
}

interface Observed {
  readonly version: number
  readonly ticket: number
  /** Changes from this ticket on create later versions than this one. */
  readonly bound: number
}

interface TableVersions {
  readonly open: Set<number>
  readonly branches: Map<string, BranchVersions>
  /** Changes from this ticket on started after all unknown changes. */
  restartedFrom: number
  /** Ticket of the latest change or end of a read; 0 if there is none. */
  latest: number
  /** Whether a change may create versions after its end. */
  hasJob: boolean
}

const maxTables = 10_000
const maxBranches = 100
const maxCreators = 64
const maxAhead = 1_000

/** Permissions of operations that may create or remove versions of their table; a materialized view is one in listings. */
const versioningPermissions: ReadonlySet<Permission> = new Set<Permission>(
  operationNames.filter((name) => {
    const { object, effect, facts } = getOperation(name)
    const isOnTag = effect === 'change' && facts.some(([fact]) => fact === 'tag')
    return (object === 'table' || object === 'materialized_view') && effect !== 'read' && !isOnTag
  }),
)

const noGaps: readonly OutOfBandVersions[] = []

/**
 * Tracks the versions of the most recently changed tables. Versions of a branch have no gaps, so a version whose
 * predecessor was never seen reveals a change that bypassed the gateway. Responses may arrive out of order, so a gap
 * counts only after every change that may have created the missing version has ended. A version observed after a change
 * is an upper bound of the version that the change created; when all concurrent changes have ended, it takes the
 * highest free number up to its bound. So the number of flagged versions equals the number created elsewhere, and a
 * version stated by a response is never flagged. A read of the newest version counts only if no change was open
 * meanwhile: then every change has either created one of the known versions, or none.
 */
export class TableHistory {
  readonly #tables = new LRUCache<string, TableVersions>({ max: maxTables })
  #nextTicket = 1

  begin(intent: ChangeIntent): StartedChange {
    const ticket = this.#nextTicket++
    const tables = listVersionedTables(intent)
    for (const { key } of tables) {
      const table = this.#getTable(key, ticket)
      table.open.add(ticket)
      table.latest = ticket
    }
    const { request, operation, before, details } = intent
    const definition = findOperation(operation)
    return {
      ticket,
      request,
      before,
      restartsVersions: definition?.versions === 'restart' || definition?.removesName === true,
      declaresTable: definition?.statesManagedVersions === true && details?.['location'] === undefined,
      replacedBranch: findReplacedBranch(intent),
      tables,
    }
  }

  /** An unknown outcome ends when it is resolved. Returns the out-of-band versions that this end reveals. */
  end(change: StartedChange, effect: ChangeEffect): readonly OutOfBandVersions[] {
    let outOfBand = noGaps
    for (const { id, key } of change.tables) {
      const table = this.#tables.get(key)
      if (table === undefined) continue
      table.open.delete(change.ticket)
      if (effect !== 'nothing') this.#applyEffect(table, id, effect, change)
      const gaps = this.#findGaps(id, table)
      if (gaps.length > 0) outOfBand = [...outOfBand, ...gaps]
    }
    return outOfBand
  }

  /** Must be called before the request for the version is sent. */
  startRead(id: ObjectId): StartedRead {
    const table = createTableKey(id)
    const ticket = this.#nextTicket++
    return { ticket, table, isDisturbed: this.#getTable(table.key, ticket).open.size > 0 }
  }

  /**
   * Takes the newest version, 0 if there is none, as the known one, unless a change of the table was open since the start
   * of the read. Returns the difference to the version that was known, unless a job may have made it. After a first read
   * there is none.
   */
  endRead(
    { ticket, table: { key }, isDisturbed }: StartedRead,
    version: number,
  ): VersionDifference | undefined {
    const table = this.#getTable(key, ticket)
    if (isDisturbed || table.latest > ticket) return undefined
    table.latest = this.#nextTicket++
    const known = table.branches.get('')
    const before = known?.isFirm === true ? known.newest : undefined
    if (known !== undefined && before !== undefined && version >= before) known.newest = version
    else {
      // A lower version is that of another dataset, and so are those of its branches.
      if (before !== undefined) this.#reset(table)
      table.branches.set('', createBranchVersions(version, true, this.#nextTicket))
    }
    const isExplained = before === undefined || before === version || table.hasJob
    return isExplained ? undefined : { before, version }
  }

  getNewestVersion(id: ObjectId, branch: string | undefined): number | undefined {
    const versions = this.#tables.peek(idToJson(id))?.branches.get(branch ?? '')
    if (versions?.isFirm !== true) return undefined
    return Math.max(
      versions.newest,
      ...versions.ahead.keys(),
      ...versions.observed.map(({ version }) => version),
    )
  }

  /** Undefined if no response stated the request, or if it was evicted. */
  findCreator(id: ObjectId, branch: string | undefined, version: number): string | undefined {
    return this.#tables
      .peek(idToJson(id))
      ?.branches.get(branch ?? '')
      ?.creators.get(version)
  }

  #getTable(key: string, ticket: number): TableVersions {
    let table = this.#tables.get(key)
    if (table === undefined) {
      table = { open: new Set(), branches: new Map(), restartedFrom: ticket, latest: 0, hasJob: false }
      this.#tables.set(key, table)
    }
    return table
  }

  /** Applies the created versions of a table; if none are listed, the change created unknown ones. */
  #applyEffect(
    table: TableVersions,
    id: ObjectId,
    effect: Exclude<ChangeEffect, 'nothing'>,
    change: StartedChange,
  ): void {
    const createdVersions = typeof effect === 'string' ? [] : effect
    if (change.restartsVersions) table.hasJob = false
    if (effect === 'job') table.hasJob = true
    let isListed = false
    for (const { id: tableId, branch = '', version, observed } of createdVersions) {
      if (!isSameId(tableId, id)) continue
      isListed = true
      if (change.restartsVersions && (observed === true || isRestart(table, branch, version, change)))
        this.#restartBranch(table, branch, version)
      else if (observed !== true) this.#addCreated(table, branch, version, change)
      else this.#addObserved(table, branch, version, change)
    }
    if (isListed) return
    if (change.replacedBranch !== undefined) table.branches.delete(change.replacedBranch)
    else if (effect === 'unclear' && change.declaresTable) this.#restartBranch(table, '', 0)
    // Afterwards, the name may refer to another table.
    else this.#reset(table)
  }

  #reset(table: TableVersions): void {
    table.branches.clear()
    table.restartedFrom = this.#nextTicket
  }

  #addCreated(
    table: TableVersions,
    branch: string,
    version: number,
    { ticket, request }: StartedChange,
  ): void {
    const current = table.branches.get(branch)
    const versions = current?.isFirm === true ? current : this.#startBranch(table, branch, version, ticket)
    versions.creators.set(version, request)
    const [oldest] = versions.creators.keys()
    if (versions.creators.size > maxCreators && oldest !== undefined) versions.creators.delete(oldest)
    if (version <= versions.newest) return
    versions.ahead.set(version, this.#nextTicket)
    absorbAhead(versions)
    // Some change has been open for too long: give up on the gap.
    if (versions.ahead.size > maxAhead) closeGap(versions)
  }

  #addObserved(
    table: TableVersions,
    branch: string,
    version: number,
    { ticket, before = 0 }: StartedChange,
  ): void {
    if (version <= before) {
      // The change created no version, or the upstream creates it later.
      table.hasJob = true
      return this.#reset(table)
    }
    const versions = table.branches.get(branch)
    if (versions?.isFirm !== true) {
      this.#startBranch(table, branch, version, ticket)
      return
    }
    versions.observed.push({ version, ticket, bound: this.#nextTicket })
    // The changes have overlapped for too long to be resolved.
    if (versions.observed.length > maxAhead) this.#reset(table)
  }

  /** The id may refer to another dataset, whose newest version is this one. */
  #restartBranch(table: TableVersions, branch: string, version: number): void {
    this.#reset(table)
    // An open change may belong to either dataset.
    if (table.open.size === 0)
      table.branches.set(branch, createBranchVersions(version, true, this.#nextTicket))
  }

  #startBranch(table: TableVersions, branch: string, version: number, ticket: number): BranchVersions {
    const isFirm = ticket >= table.restartedFrom
    const uncertain = table.branches.get(branch)
    if (uncertain === undefined && table.branches.size >= maxBranches) this.#reset(table)
    const versions = uncertain ?? createBranchVersions(version, isFirm, this.#nextTicket)
    versions.isFirm = isFirm
    versions.newest = Math.max(versions.newest, version)
    versions.firmFrom = this.#nextTicket
    table.branches.set(branch, versions)
    return versions
  }

  #findGaps(id: ObjectId, table: TableVersions): readonly OutOfBandVersions[] {
    let gaps: OutOfBandVersions[] | undefined
    for (const [branch, versions] of table.branches) {
      if (versions.observed.length > 0) {
        if (!isResolvable(versions, table.open)) continue
        if (!resolveObserved(versions)) {
          this.#reset(table)
          break
        }
      }
      if (versions.ahead.size === 0) continue
      gaps ??= []
      for (
        let gap = findClosedGap(versions, table.open);
        gap !== undefined;
        gap = findClosedGap(versions, table.open)
      ) {
        gaps.push({ id, ...(branch !== '' && { branch }), ...gap })
        closeGap(versions)
      }
    }
    return gaps ?? noGaps
  }
}

function createBranchVersions(newest: number, isFirm: boolean, firmFrom: number): BranchVersions {
  return { newest, isFirm, firmFrom, ahead: new Map(), observed: [], creators: new Map() }
}

/** Whether the stated version is that of another dataset: its number is known, and no later change can have made it so. */
function isRestart(
  { branches, latest }: TableVersions,
  branch: string,
  version: number,
  { ticket }: StartedChange,
): boolean {
  const versions = branches.get(branch)
  return versions !== undefined && version <= versions.newest && latest === ticket
}

/** Undefined for the main branch. */
export function getBranch(details: ChangeIntent['details']): string | undefined {
  const branch = details?.['branch']
  return typeof branch === 'string' && branch !== '' && branch !== 'main' ? branch : undefined
}

/** Any change that is no commit, but has a branch, creates or removes the branch. */
function findReplacedBranch({ operation, details = {} }: ChangeIntent): string | undefined {
  const definition = findOperation(operation)
  if (definition?.effect !== 'change') return undefined
  const { branch } = parseFactDetails(definition, details).stated
  return branch === undefined ? undefined : getBranch({ branch })
}

function listVersionedTables({ operation, id, effect, objects = [] }: ChangeIntent): TableKey[] {
  const versioned = objects.filter(({ operation }) => versioningPermissions.has(operation))
  const definition = findOperation(operation)
  // Only completing a multipart write creates a version.
  if (definition?.multipart !== undefined && effect === 'change') return []
  // Besides its own table, an operation may move another one.
  if (versioningPermissions.has(operation)) return listKeys([id, ...versioned.map(({ id }) => id)])
  // An extra operation may create versions of its table.
  if (definition === undefined) return effect === 'read' ? [] : [createTableKey(id)]
  if (definition.object !== 'none') return []
  return listKeys(versioned.map(({ id }) => id))
}

function listKeys(ids: readonly ObjectId[]): TableKey[] {
  const tables = ids.map(createTableKey)
  return [...new Map(tables.map((table) => [table.key, table])).values()]
}

function createTableKey(id: ObjectId): TableKey {
  return { id, key: idToJson(id) }
}

function isSameId(one: ObjectId, other: ObjectId): boolean {
  return one === other || (one.length === other.length && one.every((part, index) => part === other[index]))
}

/** Returns whether all changes concurrent with the end of an observed one have ended. */
function isResolvable({ observed }: BranchVersions, open: ReadonlySet<number>): boolean {
  const bound = observed.at(-1)?.bound ?? 0
  for (const ticket of open) if (ticket < bound) return false
  return true
}

/**
 * Assigns to each observed change the highest free version up to its bound. Returns false if none is free: the change
 * created no version, or the upstream creates it later.
 */
function resolveObserved(versions: BranchVersions): boolean {
  const bound = versions.observed.at(-1)?.bound ?? 0
  // A change that may precede the first known version may find no free one, so it comes last.
  const observed = versions.observed.splice(0).toSorted((one, other) => other.ticket - one.ticket)
  for (const { version, ticket } of observed) {
    let free = version
    while (versions.ahead.has(free)) free -= 1
    if (free > versions.newest) versions.ahead.set(free, bound)
    else if (ticket >= versions.firmFrom) return false
  }
  absorbAhead(versions)
  return true
}

/** Returns the first gap that no open change can fill. */
function findClosedGap(
  versions: BranchVersions,
  open: ReadonlySet<number>,
): { from: number; to: number } | undefined {
  const first = Math.min(...versions.ahead.keys())
  const bound = versions.ahead.get(first)
  if (bound === undefined) return undefined
  for (const ticket of open) if (ticket < bound) return undefined
  return { from: versions.newest + 1, to: first - 1 }
}

function closeGap(versions: BranchVersions): void {
  versions.newest = Math.min(...versions.ahead.keys()) - 1
  absorbAhead(versions)
}

function absorbAhead(versions: BranchVersions): void {
  while (versions.ahead.delete(versions.newest + 1)) versions.newest += 1
}
