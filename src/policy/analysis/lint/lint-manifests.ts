import { getOperation, operationNames, type OperationName } from '../../../catalog-api/operations.ts'
import { permissionGroups, type Permission } from '../../../catalog-api/permissions.ts'
import type { RequiresFolders } from './namespace-limits.ts'
import { createFinding, type Finding } from './finding.ts'
import type { FindUnrestrictedGrants } from './unrestricted-grants.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { matchSubjects, knownFromSubject, listSubjects } from '../../engine/subject.ts'

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
export function lintManifests(
  documents: readonly PolicyDocument[],
  findGrants: FindUnrestrictedGrants,
  requiresFolders: RequiresFolders,
): readonly Finding[] {
  function findUnrestrictedCommits(document: PolicyDocument, rule: PolicyRule): readonly Finding[] {
    const { effect, permissions, condition, subjects } = rule
    const commits = manifestOperations.filter((permission) => permissions.has(permission))
    if (effect === 'deny' || commits.length === 0) return []
    if (permissions.has('OverwriteTable') || condition?.facts.includes('manifestPath') === true) return []
    const callers = listSubjects(subjects).filter(
      (subject) => matchSubjects(subjects, knownFromSubject(subject)) !== false,
    )
    const free = callers.filter((subject) => !requiresFolders(document, subject))
    if (free.length === 0) {
      // Folders bound where manifests are, not what their files name.
      if (!subjects.any && !subjects.anonymous) return []
      const message = `allows ${commits.join(', ')} to every caller: ${readsAnything}; name the users that write files themselves`
      return [createFinding(document, rule, 'warning', 'manifest', message)]
    }
    const overwrites = free.every((subject) => {
      const grants = findGrants(subject, document.namespace)
      return overwritePermissions.some((permission) => grants.has(permission))
    })
    const isGroup = permissionGroups.get('commit')?.every((member) => permissions.has(member)) === true
    const granted = isGroup ? '"commit", which includes overwriting' : commits.join(', ')
    const message =
      `allows ${granted}: a manifest can replace all rows, columns and indexes, and ${readsAnything}; ` +
      'require "folders" of commits here or above'
    return [createFinding(document, rule, overwrites ? 'info' : 'warning', 'manifest', message)]
  }

  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => findUnrestrictedCommits(document, rule)),
  )
}
