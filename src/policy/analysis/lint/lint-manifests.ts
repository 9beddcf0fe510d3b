import { getOperation, operationNames, type OperationName } from '../../../catalog-api/operations.ts'
import { permissionGroups, type Permission } from '../../../catalog-api/permissions.ts'
import type { Condition } from '../../conditions/condition.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import type { PolicySet } from '../../policy-set.ts'
import { findGrant, isOnFolders } from './find-grant.ts'
import { createFinding, type Finding } from './finding.ts'

/** Operations that make a manifest, which the caller has written, a version of a table. */
export const manifestOperations: readonly OperationName[] = operationNames.filter((name) =>
  getOperation(name).facts.some(([fact]) => fact === 'manifestPath'),
)

/** Permissions that replace rows or columns of a table, as a manifest does. */
const overwritePermissions = [
  'OverwriteTable',
  'AlterTableDropColumns',
] as const satisfies readonly Permission[]

const readsAnything = 'its files can name any object that the credential of the catalog reads'

/**
 * Finds rules that allow commits of any manifest. A manifest can replace rows, columns and indexes. Reports a warning
 * if the callers cannot overwrite otherwise, and an info if they can by another rule. With required folders, reports commits by every caller.
 */
export function lintManifests(set: PolicySet): readonly Finding[] {
  return set.documents.flatMap((document) =>
    document.rules.flatMap((rule) => findUnrestrictedCommits({ document, rule }, set)),
  )
}

/** A commit that fails only the requirements on folders. */
const ifOutsideFolders = {
  get: (condition: Condition) => (isOnFolders(condition) ? 'true' : 'false'),
} as const

function findUnrestrictedCommits(own: LocatedRule, set: PolicySet): readonly Finding[] {
  const { effect, permissions, condition, subjects } = own.rule
  const { namespace } = own.document
  const commits = manifestOperations.filter((permission) => permissions.has(permission))
  const [commit] = commits
  if (effect === 'deny' || commit === undefined) return []
  if (permissions.has('OverwriteTable') || condition?.facts.includes('manifestPath') === true) return []
  const callers = listSubjects(subjects).filter(
    (subject) => matchSubjects(subjects, knownAsOnly(subject)) === true,
  )
  const position = { namespace, table: undefined }
  const isBound = (subject: Subject): boolean => {
    const caller = knownAsOnly(subject)
    const { kind, by } = set.evaluate({ permission: commit, position, caller, conditions: ifOutsideFolders })
    return kind === 'denied' && by !== undefined
  }
  const free = callers.filter((subject) => !isBound(subject))
  if (free.length === 0) {
    // Folders bound where manifests are, not what their files name.
    if (!subjects.any && !subjects.anonymous) return []
    const message = `allows ${commits.join(', ')} to every caller: ${readsAnything}; name the users that write files themselves`
    return [createFinding(own, 'warning', 'manifest', message)]
  }
  const canOverwrite = free.every((subject) =>
    overwritePermissions.some((one) => findGrant(set, one, position, subject)),
  )
  const isGroup = permissionGroups.get('commit')?.every((member) => permissions.has(member)) === true
  const granted = isGroup ? '"commit", which includes overwriting' : commits.join(', ')
  const message =
    `allows ${granted}: a manifest can replace all rows, columns and indexes, and ${readsAnything}; ` +
    'require "folders" of commits here or above'
  return [createFinding(own, canOverwrite ? 'info' : 'warning', 'manifest', message)]
}
