import { createFinding, type Finding } from './finding.ts'
import { manifestOperations } from './lint-manifests.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'

/**
 * Finds rules that allow commits to callers that are not named one by one. The files of a committed version can name any
 * object, wherever its manifest is, so `folders` do not bound what is read. Rules for callers that may read everything
 * otherwise are not reported, nor are those of `reported`, which say the same.
 */
export function lintCommitReads(
  documents: readonly PolicyDocument[],
  reported: readonly Finding[],
): readonly Finding[] {
  const isReported = new Set(reported.map(({ file, line }) => `${line} ${file}`))
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const callers = describeUnnamedCallers(rule)
      const { effect, permissions } = rule
      const commits = manifestOperations.filter((permission) => permissions.has(permission))
      if (isReported.has(`${rule.line} ${document.file}`)) return []
      const readsAnyway = document.namespace.length === 0 && permissions.has('ReadAnyTable')
      if (callers === undefined || effect === 'deny' || readsAnyway || commits.length === 0) return []
      const message =
        `allows ${commits.join(', ')} to ${callers}: the files of a version can name any object that the credential of the ` +
        'catalog reads; name the users and service accounts that write files themselves'
      const isEveryone = rule.subjects.any || rule.subjects.anonymous
      return [createFinding(document, rule, isEveryone ? 'warning' : 'info', 'commit-reads', message)]
    }),
  )
}

function describeUnnamedCallers({ subjects }: PolicyRule): string | undefined {
  const { any, anonymous, groups } = subjects
  if (any || anonymous) return 'every caller'
  return groups.length > 0 ? 'a group' : undefined
}
