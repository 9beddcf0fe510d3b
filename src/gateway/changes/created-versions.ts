import {
  type AuditedObject,
  type CreatedVersion,
  type Details,
  getBranch,
  type IntentEntry,
  listKeys,
} from '../../audit/index.ts'
import { getMember } from '../facts/stated-facts.ts'
import { findOperation, type BatchEntries } from '../../catalog-api/operations.ts'

interface ChangedBranch {
  readonly id: CreatedVersion['id']
  readonly details?: Details | undefined
}

type ChangeFacts = Pick<IntentEntry, 'operation' | 'id' | 'objects' | 'details' | 'effect'>

const maxTextLength = 1024

/**
 * Reads the versions that a change created from its success response: `{version: 7}`, `{version: {version: 7, ...}}`,
 * or those of a batch in the order of its entries. Empty if the response states none.
 */
export function readCreatedVersions(change: ChangeFacts, response: unknown): CreatedVersion[] {
  if (change.effect !== 'commit') return []
  const { operation, id, details, objects = [] } = change
  const entries = findOperation(operation)?.entries
  if (entries === undefined) {
    return [readCreatedVersion({ id, details }, getMember(response, 'version'))].filter(
      (made) => made !== undefined,
    )
  }
  const list = getMember(response, entries.results)
  if (!Array.isArray(list)) return []
  return objects
    .map((object, index) => readCreatedVersion(object, readEntryResult(entries, object, list[index])))
    .filter((made) => made !== undefined)
}

/** If the operations of entries differ, the result is in the member that held the entry. */
function readEntryResult(
  { operation: operations }: BatchEntries,
  { operation }: AuditedObject,
  result: unknown,
): unknown {
  if (typeof operations === 'string') return result
  const found = Object.entries(operations).find(([, name]) => name === operation)
  return found && getMember(getMember(result, found[0]), 'version')
}

/** Parses a version of the interface: a number or an object. Undefined for anything else. */
export function readCreatedVersion(
  { id, details }: ChangedBranch,
  value: unknown,
): CreatedVersion | undefined {
  const version = typeof value === 'number' ? value : getMember(value, 'version')
  if (typeof version !== 'number' || !Number.isSafeInteger(version)) return undefined
  const branch = getBranch(details)
  const manifestPath = readText(getMember(value, 'manifest_path'))
  const manifestSize = getMember(value, 'manifest_size')
  const eTag = readText(getMember(value, 'e_tag'))
  const metadataKeys = listKeys(getMember(value, 'metadata'))
  return {
    id,
    branch,
    version,
    manifestPath,
    manifestSize:
      typeof manifestSize === 'number' && Number.isSafeInteger(manifestSize) ? manifestSize : undefined,
    eTag,
    metadataKeys,
  }
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : undefined
}
