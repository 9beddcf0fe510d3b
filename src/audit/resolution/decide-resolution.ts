import type { CreatedVersion, Resolution } from '../records/audit-record.ts'
import type { Lookup, InDoubtChange } from './in-doubt-changes.ts'
import type { TableHistory } from './table-history.ts'

/** What the upstream said to a lookup. */
export type LookupResult =
  | { readonly found: CreatedVersion }
  /** The table or branch is there, and has no such version, or no version at all. */
  | { readonly found: 'no version' }
  /** The table or branch itself is not there. */
  | { readonly found: 'nothing'; readonly what: string }

/**
 * What one look tells. `absent` is no answer yet: a request that is still under way at the upstream may make the
 * version after all.
 */
export interface ResolutionDecision {
  readonly result: Resolution | 'absent'
  readonly evidence: string
}

/**
 * Judges by what a look found. It rests on put-if-not-exists: of all requests for a version of a branch one at most
 * succeeds, and what it wrote stays. So a version that is there is either ours or shuts ours out for good, and the
 * only doubt is whose it is. The final manifest is the staged one under another name: another size is another's,
 * and the same entity tag is the same file. Tags that differ prove nothing, for a copy may have another one.
 */
export function decideResolution(
  change: InDoubtChange,
  lookup: Lookup,
  found: LookupResult,
  history: TableHistory,
): ResolutionDecision {
  if (found.found === 'nothing') return { result: 'undecided', evidence: `${found.what} no longer exists` }
  return 'version' in lookup
    ? decideByVersion(change, lookup, found.found, history)
    : decideByNewerVersion(lookup, found.found, history)
}

type VersionLookup = Extract<Lookup, { version: number }>
type NewerLookup = Extract<Lookup, { before: number }>

function decideByVersion(
  { intent }: InDoubtChange,
  { id, branch, version, manifestSize, eTag }: VersionLookup,
  found: CreatedVersion | 'no version',
  history: TableHistory,
): ResolutionDecision {
  if (found === 'no version') return { result: 'absent', evidence: `version ${version} does not exist` }
  const maker = history.findMaker(id, branch, version)
  if (maker !== undefined && maker !== intent.request) {
    return { result: 'taken', evidence: `request ${maker} made version ${version}` }
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
  history: TableHistory,
): ResolutionDecision {
  const newest = found === 'no version' ? 0 : found.version
  if (newest < before) return { result: 'undecided', evidence: `version ${before} no longer exists` }
  if (newest === before) return { result: 'absent', evidence: `there is no version after ${before}` }
  const unknown: number[] = []
  for (let version = newest; version > before && unknown.length < 2; version -= 1) {
    if (history.findMaker(id, branch, version) === undefined) unknown.push(version)
  }
  const [one] = unknown
  if (one === undefined) {
    return { result: 'absent', evidence: `every version after ${before} was made by another request` }
  }
  return { result: 'undecided', evidence: `the author of version ${one} is unknown` }
}

function stripTagQuotes(tag: string): string {
  return tag.replace(/^W\//, '').replaceAll('"', '')
}
