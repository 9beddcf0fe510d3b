import { keysOf } from '../../audit/fact-details.ts'
import { memberOf } from '../facts/read-facts.ts'
import type { Details, IntentEntry, MadeVersion } from '../../audit/records.ts'
import { branchOf } from '../../audit/table-history.ts'

/** What a version belongs to. */
interface Place {
  readonly id: MadeVersion['id']
  readonly details?: Details | undefined
}

type ChangeFacts = Pick<IntentEntry, 'operation' | 'id' | 'objects' | 'details' | 'effect'>

const maximumText = 1024

/**
 * The versions that a change made, as the answer of success says: `{version: 7}`, `{version: {version: 7, ...}}`, or
 * those of a batch in the order of its entries. Empty where the answer says nothing of the kind.
 */
export function madeVersions(change: ChangeFacts, answer: unknown): MadeVersion[] {
  if (change.effect !== 'commit') return []
  const { operation, id, details, objects = [] } = change
  if (operation !== 'BatchCreateTableVersions' && operation !== 'BatchCommitTables') {
    return [madeVersion({ id, details }, memberOf(answer, 'version'))].filter((made) => made !== undefined)
  }
  const list = memberOf(answer, operation === 'BatchCommitTables' ? 'results' : 'versions')
  if (!Array.isArray(list)) return []
  return objects
    .map((object, index) => {
      const result: unknown = list[index]
      return madeVersion(
        object,
        operation === 'BatchCommitTables'
          ? memberOf(memberOf(result, 'create_table_version'), 'version')
          : result,
      )
    })
    .filter((made) => made !== undefined)
}

/** A version as the interface writes it: its number, or an object; undefined for anything else. */
export function madeVersion({ id, details }: Place, value: unknown): MadeVersion | undefined {
  const version = typeof value === 'number' ? value : memberOf(value, 'version')
  if (typeof version !== 'number' || !Number.isSafeInteger(version)) return undefined
  const branch = branchOf(details)
  const manifestPath = textOf(memberOf(value, 'manifest_path'))
  const manifestSize = memberOf(value, 'manifest_size')
  const eTag = textOf(memberOf(value, 'e_tag'))
  const metadataKeys = keysOf(memberOf(value, 'metadata'))
  return {
    id,
    branch,
    version,
    manifestPath,
    manifestSize: Number.isSafeInteger(manifestSize) ? (manifestSize as number) : undefined,
    eTag,
    metadataKeys,
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, maximumText) : undefined
}
