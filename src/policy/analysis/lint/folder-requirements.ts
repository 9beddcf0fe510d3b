import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { documentsAbove, indexDocuments } from '../reaching-rules.ts'
import { matchSubjects, knownFromSubject, type Subject } from '../subject.ts'

/** Whether a requirement on folders may apply to the subject in the namespace of the policy. */
export type RequiresFolders = (
  document: Pick<PolicyDocument, 'namespace' | 'isShadow'>,
  subject: Subject,
) => boolean

export function createFolderRequirements(documents: readonly PolicyDocument[]): RequiresFolders {
  const requiring = indexDocuments(documents.filter(({ rules }) => rules.some(isFolderRequirement)))
  return ({ namespace, isShadow }, subject) =>
    documentsAbove(requiring, namespace)
      .filter((document) => isShadow || !document.isShadow)
      .flatMap(({ rules }) => rules.filter(isFolderRequirement))
      .some(({ subjects }) => matchSubjects(subjects, knownFromSubject(subject)) !== false)
}

function isFolderRequirement({ condition }: PolicyRule): boolean {
  return condition?.requirement !== undefined && 'folders' in condition.requirement
}
