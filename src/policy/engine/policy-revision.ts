import { createHash } from 'node:crypto'
import { getMembers, memoizeByObject, type Steps } from '../../lib/index.ts'
import type { Permission } from '../../catalog-api/index.ts'
import type { PolicyDocument } from '../language/policy-document.ts'

/** SHA-256 in hex. Names of documents must be unique. Layout, comments, descriptions and file names have no effect. */
export function* revisionSteps(documents: readonly PolicyDocument[]): Steps<string> {
  const hash = createHash('sha256')
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    hash.update(JSON.stringify(document, replaceMember))
    yield
  }
  return hash.digest('hex')
}

/** Members that do not change decisions, or repeat another one: the end of a rule is part of its condition. */
const ignored: ReadonlySet<string> = new Set(
  'accepted column contact file implied instance isShadow line message until when'.split(' '),
)

/** Names that policies choose, and names of permissions, are no keys here: those of maps are in lists, with their values. */
function replaceMember(key: string, value: unknown): unknown {
  if (ignored.has(key)) return undefined
  if (key === 'rows') return getMembers(value)['shown']
  if (value instanceof Set) return formatPermissions(value as ReadonlySet<Permission>)
  return value instanceof Map ? [...(value as ReadonlyMap<string, unknown>)] : value
}

/** Groups of operations are expanded, so the revision changes if a group changes. */
const formatPermissions = memoizeByObject((permissions: ReadonlySet<Permission>) =>
  [...permissions].toSorted().join(' '),
)
