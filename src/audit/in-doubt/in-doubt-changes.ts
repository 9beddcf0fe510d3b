import { findOperation } from '../../catalog-api/index.ts'
import { getIntentKey, getRecordKey, getReference } from '../records/hash-chain.ts'
import { listSegments } from '../storage/log-segments.ts'
import { readNewestRecords } from '../storage/read-audit-log.ts'
import type {
  AuditRecord,
  CreatedVersion,
  IntentEntry,
  IntentReference,
  ObjectId,
  Resolution,
} from '../records/audit-record.ts'
import { getBranch, type ChangeFacts, type KnownVersions } from './known-versions.ts'

/** Asks an upstream whether a version exists, or whether a version newer than `before` exists. */
export type Lookup = { readonly id: ObjectId; readonly branch: string | undefined } & (
  | {
      readonly version: number
      readonly manifestSize?: number | undefined
      readonly eTag?: string | undefined
    }
  | { readonly before: number }
)

export interface InDoubtChange {
  readonly intent: IntentReference
  readonly entry: ChangeFacts & Pick<IntentEntry, 'upstream'>
  /** Empty if no query can resolve the change. */
  readonly lookups: readonly Lookup[]
  /** When its outcome was lost, in milliseconds since the epoch. */
  readonly since: number
}

/** Maximum number of lookups for a batch; a batch is atomic, so a few suffice. */
const maxLookups = 16

/**
 * A version of a branch is created at most once (put-if-not-exists), so looking up the version of a commit resolves it.
 * A change of rows creates a version after all existing ones. Other changes leave no trace of their author.
 */
export function planLookups({ operation, id, objects = [], before, details }: IntentEntry): Lookup[] {
  const definition = findOperation(operation)
  if (definition === undefined) return []
  const { object, group } = definition
  const named = object === 'none' ? objects : [{ operation, id, details }]
  const versions = named.flatMap(({ operation, id, details = {} }) => {
    const { version, manifest_size: size, e_tag: tag } = details
    if (findOperation(operation)?.statesVersion !== true || typeof version !== 'number') return []
    const manifestSize = typeof size === 'number' ? size : undefined
    const eTag = typeof tag === 'string' ? tag : undefined
    return [{ id, branch: getBranch(details), version, manifestSize, eTag }]
  })
  if (versions.length > 0) return versions.slice(0, maxLookups)
  return group === 'write' && before !== undefined ? [{ id, branch: getBranch(details), before }] : []
}

/** Also adds the versions of the records to `known`. The log must be open: then every intent of earlier chains has an outcome. */
export async function readInDoubtChanges(folder: string, known: KnownVersions): Promise<InDoubtChange[]> {
  const started = new Map<string, AuditRecord<'intent'>>()
  const inDoubtChanges = new Map<string, InDoubtChange>()
  for await (const record of readNewestRecords(folder, await listSegments(folder), readBytes)) {
    if (record.kind === 'intent' && record.effect !== 'read') {
      started.set(getRecordKey(record), record)
    } else if (record.kind === 'outcome' || record.kind === 'resolved') {
      const key = getIntentKey(record)
      const entry = started.get(key)
      if (entry === undefined) continue
      if (record.result === 'unknown') {
        const since = Date.parse(record.time)
        inDoubtChanges.set(key, { intent: getReference(entry), entry, lookups: planLookups(entry), since })
      } else {
        started.delete(key)
        inDoubtChanges.delete(key)
        if (record.result === 'committed') known.add(entry, record.versions)
      }
    }
  }
  return [...inDoubtChanges.values()]
}

const readBytes = 64 * 1024 * 1024

export type LookupResult =
  | { readonly found: CreatedVersion }
  /** The table or branch exists, but not the requested version, or no version at all. */
  | { readonly found: 'no version' }
  | { readonly found: 'nothing'; readonly missingObject: string }

/** `absent` is not conclusive: a request still in progress at the upstream may create the version. */
export interface ResolutionDecision {
  readonly result: Resolution | 'absent'
  readonly evidence: string
}

/**
 * Relies on put-if-not-exists: at most one request for a version of a branch succeeds, permanently. An existing version
 * is either ours or excludes ours; only its author is in question. The final manifest is the renamed staged one: a
 * different size proves another author, an equal entity tag the same file. Different tags prove nothing, because a copy
 * may have another tag.
 */
export function decideResolution(
  change: InDoubtChange,
  lookup: Lookup,
  found: LookupResult,
  known: KnownVersions,
): ResolutionDecision {
  if (found.found === 'nothing')
    return { result: 'undecided', evidence: `${found.missingObject} no longer exists` }
  return 'version' in lookup
    ? decideByVersion(change, lookup, found.found, known)
    : decideByNewerVersion(lookup, found.found, known)
}

type VersionLookup = Extract<Lookup, { version: number }>
type NewerLookup = Extract<Lookup, { before: number }>

function decideByVersion(
  { intent }: InDoubtChange,
  { id, branch, version, manifestSize, eTag }: VersionLookup,
  found: CreatedVersion | 'no version',
  known: KnownVersions,
): ResolutionDecision {
  if (found === 'no version') return { result: 'absent', evidence: `version ${version} does not exist` }
  const creator = known.findCreator(id, branch, version)
  if (creator !== undefined && creator !== intent.request) {
    return { result: 'taken', evidence: `request ${creator} made version ${version}` }
  }
  if (manifestSize !== undefined && found.manifestSize !== undefined && manifestSize !== found.manifestSize) {
    return { result: 'taken', evidence: `version ${version} has a manifest of a different size` }
  }
  if (eTag !== undefined && found.eTag !== undefined && stripTagQuotes(eTag) === stripTagQuotes(found.eTag)) {
    return { result: 'committed', evidence: `version ${version} has the staged manifest` }
  }
  return { result: 'undecided', evidence: `version ${version} exists, but its author is unknown` }
}

function decideByNewerVersion(
  { id, branch, before }: NewerLookup,
  found: CreatedVersion | 'no version',
  known: KnownVersions,
): ResolutionDecision {
  const newest = found === 'no version' ? 0 : found.version
  if (newest < before) return { result: 'undecided', evidence: `version ${before} no longer exists` }
  if (newest === before) return { result: 'absent', evidence: `there is no version after ${before}` }
  for (let version = newest; version > before; version -= 1) {
    if (known.findCreator(id, branch, version) === undefined)
      return { result: 'undecided', evidence: `the author of version ${version} is unknown` }
  }
  return { result: 'absent', evidence: `every version after ${before} was made by another request` }
}

function stripTagQuotes(tag: string): string {
  return tag.replace(/^W\//, '').replaceAll('"', '')
}
