import {
  type AuditedObject,
  type CreatedVersion,
  type Details,
  getBranch,
  type IntentEntry,
  listKeys,
  type LookupResult,
  type ObjectId,
} from '../../audit/index.ts'
import { getMember } from '../facts/stated-facts.ts'
import { findOperation, type BatchEntries } from '../../catalog-api/operations.ts'
import { errorCodes } from '../../catalog-api/catalog-error.ts'
import { ownOperations, type OwnClient } from '../upstream/own-client.ts'

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
function readCreatedVersion({ id, details }: ChangedBranch, value: unknown): CreatedVersion | undefined {
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

/** Selects a version of a branch; the newest one without a number. */
interface VersionQuery {
  readonly id: ObjectId
  /** Undefined for the main branch. */
  readonly branch: string | undefined
  readonly version?: number
}

/** Fetches a version, or the newest one. Throws Error if the version could not be determined. */
export async function fetchVersion(
  query: VersionQuery,
  client: OwnClient,
  signal: AbortSignal,
): Promise<LookupResult> {
  const { id, branch, version } = query
  const lookup = { operation: ownOperations.describeVersion, id, body: { id, branch, version } }
  const { status, body } = await client.readJson(lookup, signal)
  if (status === 200) return { found: readVersion(query, body) }
  const code = getMember(body, 'code')
  if (status === 404 && code === errorCodes.TableVersionNotFound.code) return { found: 'no version' }
  if (status === 404 && code === errorCodes.TableBranchNotFound.code)
    return { found: 'nothing', missingObject: 'the branch' }
  if (
    status === 404 &&
    (code === errorCodes.TableNotFound.code || code === errorCodes.NamespaceNotFound.code)
  ) {
    return { found: 'nothing', missingObject: 'the table' }
  }
  throw new Error(`the upstream returned status ${status}`)
}

function readVersion({ id, branch }: VersionQuery, body: unknown) {
  const made = readCreatedVersion({ id, details: { branch } }, getMember(body, 'version'))
  if (made === undefined) throw new Error('the response of the upstream has no version')
  return made
}
