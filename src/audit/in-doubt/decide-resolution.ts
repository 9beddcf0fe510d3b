import type { CreatedVersion, Resolution } from '../records/audit-record.ts'
import type { Lookup, InDoubtChange } from './in-doubt-changes.ts'
import type { KnownVersions } from './known-versions.ts'

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
  const unknown: number[] = []
  for (let version = newest; version > before && unknown.length < 2; version -= 1) {
    if (known.findCreator(id, branch, version) === undefined) unknown.push(version)
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
