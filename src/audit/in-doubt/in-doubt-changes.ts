import { findOperation } from '../../catalog-api/index.ts'
import { getIntentKey, getRecordKey, getReference } from '../records/hash-chain.ts'
import { listSegments } from '../storage/log-segments.ts'
import { readNewestRecords } from '../storage/read-audit-log.ts'
import type { AuditRecord, Details, IntentEntry, IntentReference, ObjectId } from '../records/audit-record.ts'
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
  const versions = named.flatMap(({ operation, id, details = {} }) =>
    findOperation(operation)?.statesVersion === true ? planVersionLookup(id, details) : [],
  )
  if (versions.length > 0) return versions.slice(0, maxLookups)
  return group === 'write' && before !== undefined ? [{ id, branch: getBranch(details), before }] : []
}

function planVersionLookup(id: ObjectId, details: Details): Lookup[] {
  const { version, manifest_size: manifestSize, e_tag: eTag } = details
  if (typeof version !== 'number') return []
  return [
    {
      id,
      branch: getBranch(details),
      version,
      manifestSize: typeof manifestSize === 'number' ? manifestSize : undefined,
      eTag: typeof eTag === 'string' ? eTag : undefined,
    },
  ]
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
