import { permissionGroups } from '../../../catalog-api/permissions.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { listSubjects } from '../subject.ts'
import { createFinding, type Finding } from './finding.ts'
import { indexRulesBySubject, rulesForSubjects } from './rules-by-subject.ts'

const writes = permissionGroups.get('write') ?? []

/**
 * Finds rules that allow writes to callers that no rule allows to describe a table: clients do that before they write.
 * Callers may also be in groups that are not known here.
 */
export function lintWrites(documents: readonly PolicyDocument[]): readonly Finding[] {
  const allows = indexRulesBySubject(documents, 'allow')
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const named = listNamedPermissions(rule)
      if (rule.effect === 'deny' || !writes.every((permission) => named.includes(permission))) return []
      const canDescribe = listSubjects(rule.subjects).every((subject) =>
        rulesForSubjects(allows, document.namespace, [subject]).some((other) =>
          other.rule.permissions.has('DescribeTable'),
        ),
      )
      if (canDescribe) return []
      const message =
        'allows "write" to callers that no rule allows DescribeTable: clients describe a table before they write; add ' +
        '"read" or "browse"'
      return [createFinding(document, rule, 'warning', 'write-only', message)]
    }),
  )
}
