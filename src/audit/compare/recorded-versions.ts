import { findOperation } from '../../catalog-api/index.ts'
import { getBranch } from '../in-doubt/known-versions.ts'
import { parseFactDetails } from '../records/fact-details.ts'
import { getIntentKey, getRecordKey } from '../records/hash-chain.ts'
import { idToJson } from '../records/json-text.ts'
import type { AuditedObject, AuditRecord, CreatedVersion, ObjectId } from '../records/audit-record.ts'
import { readAuditLog, type ReportProblem } from '../storage/read-audit-log.ts'

/** Milliseconds since 1970, inclusive. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** The recorded versions of one branch. */
export interface BranchRecords {
  /** Numbers that requests or responses state. */
  readonly stated: Set<number>
  /** One for each change that made, or may have made, a version that its record does not number. */
  readonly unnumbered: TimeSpan[]
  /** Times in which jobs of the catalog make any number of versions. */
  readonly jobs: TimeSpan[]
  /** Versions up to this time came with the table or branch. */
  baseline: number
}

/** A job of a catalog explains versions for this long. */
const jobMs = 24 * 3_600_000

/** The versions that audit logs explain. */
export type RecordedVersions = ReturnType<typeof createRecordedVersions>

/**
 * Creates the reader of the versions that audit logs explain. Each folder has the log of a gateway in front of the same
 * catalog. Versions before `since` need not be explained. Retains two numbers for each change, and the intents of changes in
 * progress.
 */
export function createRecordedVersions(
  folders: readonly string[],
  since: Date | undefined,
  onProblem?: ReportProblem,
) {
  /** By table, then by branch; the name of the main branch is empty. */
  const tables = new Map<string, Map<string, BranchRecords>>()
  const intents = new Map<string, AuditRecord<'intent'>>()
  /** The last record read of each chain. */
  const seen = new Map<string, number>()
  let first = Infinity
  let readAt = -Infinity

  function add(record: AuditRecord): void {
    if (record.kind === 'intent' && record.effect !== 'read') {
      intents.set(getRecordKey(record), record)
    } else if ((record.kind === 'outcome' || record.kind === 'resolved') && record.result !== 'unknown') {
      const key = getIntentKey(record)
      const intent = intents.get(key)
      intents.delete(key)
      const { result, time } = record
      // An undecided change may have been made, but its record has the newest version of the table instead.
      if (result !== 'committed' && result !== 'undecided') return
      const versions = result === 'committed' ? (record.versions ?? []) : []
      const isJob = record.kind === 'outcome' && record.status === 202
      if (intent !== undefined && result === 'committed') replaceTables(intent, versions, Date.parse(time))
      for (const version of versions) recordsOf(version).stated.add(version.version)
      if (intent !== undefined) addChange(intent, versions, Date.parse(time), isJob)
    }
  }

  function addChange(
    intent: AuditRecord<'intent'>,
    versions: readonly CreatedVersion[],
    to: number,
    isJob: boolean,
  ): void {
    const from = Date.parse(intent.time)
    for (const change of listVersionChanges(intent)) {
      const isStated = versions.some(({ id }) => idToJson(id) === idToJson(change.id))
      if (change.version !== undefined) recordsOf(change).stated.add(change.version)
      else if (isJob) recordsOf(change).jobs.push({ from, to: from + jobMs })
      else if (!isStated) recordsOf(change).unnumbered.push({ from, to })
    }
    if (isJob && listVersionChanges(intent).length === 0)
      recordsOf({ id: intent.id }).jobs.push({ from, to: from + jobMs })
  }

  /** Follows changes after which a name refers to another table, or to none, or a branch to other versions. */
  function replaceTables(
    intent: AuditRecord<'intent'>,
    versions: readonly CreatedVersion[],
    at: number,
  ): void {
    const { operation, id, details = {} } = intent
    const definition = findOperation(operation)
    if (definition === undefined) return
    const key = idToJson(id)
    const { stated } = parseFactDetails(definition, details)
    if (definition.removesName) {
      const branches = tables.get(key)
      tables.delete(key)
      if (definition.object === 'namespace') removeBeneath(key)
      const { newName, newNamespace = id.slice(0, -1) } = stated
      if (newName !== undefined && branches !== undefined)
        tables.set(idToJson([...newNamespace, newName]), branches)
    } else if (operation === 'RegisterTable' || operation === 'CloneTable') {
      tables.delete(key)
      recordsOf({ id }).baseline = at
    } else if (operation === 'CreateTableBranch' || operation === 'DeleteTableBranch') {
      if (stated.branch === undefined) return
      tables.get(key)?.delete(stated.branch)
      recordsOf({ id, branch: stated.branch }).baseline = at
    } else if (definition.versions === 'restart') {
      const newest = Math.max(...(tables.get(key)?.get('')?.stated ?? []))
      const made = versions.find((version) => idToJson(version.id) === key)?.version
      const { mode = 'create' } = stated
      // A number that was used before is that of another dataset.
      if (mode === 'create' || (made !== undefined && made <= newest)) tables.delete(key)
    }
  }

  function removeBeneath(namespace: string): void {
    const prefix = namespace.slice(0, -1)
    for (const key of tables.keys()) if (key.startsWith(prefix)) tables.delete(key)
  }

  function recordsOf({ id, branch = '' }: Pick<VersionChange, 'id' | 'branch'>): BranchRecords {
    const key = idToJson(id)
    const branches = tables.get(key) ?? new Map<string, BranchRecords>()
    const records = branches.get(branch) ?? noRecords()
    tables.set(key, branches.set(branch, records))
    return records
  }

  return {
    /** Time of the first record; Infinity without records. */
    first: () => first,
    /** When the logs were last read. */
    readAt: () => readAt,
    /** Adds the records since the last reading. Rejects if a log cannot be read. */
    async read(): Promise<void> {
      const begin = readAt === -Infinity ? since : new Date(readAt)
      readAt = Date.now()
      const logs = folders.map((folder) => readAuditLog(folder, begin, onProblem))
      for await (const record of mergeByTime(logs)) {
        if (record.seq <= (seen.get(record.chain) ?? -1)) continue
        seen.set(record.chain, record.seq)
        first = Math.min(first, Date.parse(record.time))
        add(record)
      }
    },
    /** Returns the versions of a branch that were read so far; changes in progress may have made one. */
    find(id: ObjectId, branch: string): BranchRecords {
      const { stated, unnumbered, ...found } = tables.get(idToJson(id))?.get(branch) ?? noRecords()
      const records = { ...found, stated: new Set(stated), unnumbered: [...unnumbered] }
      for (const intent of intents.values()) {
        for (const change of listVersionChanges(intent)) {
          if (idToJson(change.id) !== idToJson(id) || (change.branch ?? '') !== branch) continue
          if (change.version !== undefined) records.stated.add(change.version)
          else records.unnumbered.push({ from: Date.parse(intent.time), to: Infinity })
        }
      }
      return records
    },
  }
}

function noRecords(): BranchRecords {
  return { stated: new Set(), unnumbered: [], jobs: [], baseline: -Infinity }
}

interface VersionChange {
  readonly id: ObjectId
  readonly branch?: string | undefined
  /** The version that the request states. */
  readonly version?: number | undefined
}

/** Lists the branches that a change gives a new version, one each. */
function listVersionChanges({
  operation,
  id,
  objects = [],
  details,
  effect,
}: AuditRecord<'intent'>): VersionChange[] {
  const definition = findOperation(operation)
  // An extra operation may make a version of its table.
  if (definition === undefined) return [{ id, branch: getBranch(details) }]
  if (effect !== 'commit') return []
  const changed: readonly AuditedObject[] =
    definition.object === 'none' ? objects : [{ operation, id, details }]
  return changed.flatMap(({ operation, id, details }) => {
    const { group, statesVersion } = findOperation(operation) ?? {}
    if (group === 'drop') return []
    const version = details?.['version']
    return [
      {
        id,
        branch: getBranch(details),
        version: statesVersion === true && typeof version === 'number' ? version : undefined,
      },
    ]
  })
}

/** Merges the records of several logs by time. The order within each log is preserved. */
async function* mergeByTime(
  logs: readonly AsyncGenerator<AuditRecord, void>[],
): AsyncGenerator<AuditRecord, void> {
  const heads = await Promise.all(logs.map(async (log) => ({ log, next: await log.next() })))
  for (;;) {
    const open = heads.flatMap((head) => (head.next.done === true ? [] : [{ head, record: head.next.value }]))
    const [oldest] = open.toSorted((one, other) => (one.record.time < other.record.time ? -1 : 1))
    if (oldest === undefined) return
    yield oldest.record
    oldest.head.next = await oldest.head.log.next()
  }
}
