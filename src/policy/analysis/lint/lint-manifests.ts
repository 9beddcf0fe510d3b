import { permissionGroups, type Permission } from '../../../catalog-api/permissions.ts'
import { createFinding, type Finding } from './finding.ts'
import type { FindUnrestrictedGrants } from './unrestricted-grants.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { documentsAbove, indexDocuments } from '../reaching-rules.ts'
import { matchSubjects, knownFromSubject, listSubjects, type Subject } from '../subject.ts'

/** Permissions that replace rows or columns of a table, as a manifest does. */
const overwritePermissions = [
  'OverwriteTable',
  'AlterTableDropColumns',
] as const satisfies readonly Permission[]

/**
 * Finds rules that allow commits of any manifest. A manifest can replace rows, columns and indexes. Reports a warning
 * if the callers cannot overwrite otherwise, and an info if they can by another rule.
 */
export function lintManifests(
  documents: readonly PolicyDocument[],
  findGrants: FindUnrestrictedGrants,
): readonly Finding[] {
  const requiring = indexDocuments(documents.filter(({ rules }) => rules.some(requiresFolders)))

  /** Requirements on folders that apply in the namespace of a policy. */
  function requirementsFor({ namespace, isShadow }: PolicyDocument): readonly PolicyRule[] {
    return documentsAbove(requiring, namespace)
      .filter((document) => isShadow || !document.isShadow)
      .flatMap(({ rules }) => rules.filter(requiresFolders))
  }

  function findUnrestrictedCommits(document: PolicyDocument, rule: PolicyRule): readonly Finding[] {
    const { effect, permissions, condition, subjects } = rule
    if (effect === 'deny' || !permissions.has('CreateTableVersion')) return []
    if (permissions.has('OverwriteTable') || condition?.facts.includes('manifestPath') === true) return []
    const callers = listSubjects(subjects).filter(
      (subject) => matchSubjects(subjects, knownFromSubject(subject)) !== false,
    )
    const folders = requirementsFor(document)
    const free = callers.filter((subject) => !folders.some((one) => ruleMayMatch(one, subject)))
    if (free.length === 0) return []
    const overwrites = free.every((subject) => {
      const grants = findGrants(subject, document.namespace)
      return overwritePermissions.some((permission) => grants.has(permission))
    })
    const isGroup = permissionGroups.get('commit')?.every((member) => permissions.has(member)) === true
    const granted = isGroup ? '"commit", which includes overwriting' : 'CreateTableVersion'
    const message =
      `allows ${granted}: a manifest can replace all rows, columns and indexes; ` +
      'require "folders" of commits here or above'
    return [createFinding(document, rule, overwrites ? 'info' : 'warning', 'manifest', message)]
  }

  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => findUnrestrictedCommits(document, rule)),
  )
}

function requiresFolders({ condition }: PolicyRule): boolean {
  return condition?.requirement?.kind === 'folders'
}

function ruleMayMatch({ subjects }: PolicyRule, subject: Subject): boolean {
  return matchSubjects(subjects, knownFromSubject(subject)) !== false
}
