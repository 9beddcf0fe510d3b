import type { Steps } from '../../lib/async/run-in-slices.ts'
import { getPolicyName } from '../language/policy-instance.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import type { ReportConditionFailure } from '../engine/rule-compiler.ts'
import { compileSteps, type PolicySet } from '../policy-set.ts'
import type { ParsedFile } from './parse-in-thread.ts'
import { withShadow, type ReportShadowDifference } from './shadow-policies.ts'

/** The callbacks must not throw. */
export interface CompileOptions {
  readonly onConditionFailure?: ReportConditionFailure
  /** Called when policies with `mode: shadow` would change a decision. If undefined, they are not evaluated. */
  readonly onShadowDifference?: ReportShadowDifference
}

/** Compiles documents with unique names. */
export function* compileDocuments(
  documents: readonly PolicyDocument[],
  { onConditionFailure, onShadowDifference }: CompileOptions,
): Steps<PolicySet> {
  const enforced = documents.filter(isEnforced)
  const set = yield* compileSteps(enforced, onConditionFailure)
  if (onShadowDifference === undefined || enforced.length === documents.length) return set
  return withShadow(set, yield* compileSteps(documents), onShadowDifference)
}

export function isEnforced({ isShadow }: PolicyDocument): boolean {
  return !isShadow
}

/** Returns the documents of all files. Throws PolicyError with every error in them and every repeated name. */
export function mergeFiles(files: readonly ParsedFile[]): readonly PolicyDocument[] {
  const documents = files.flatMap((file) => file.documents)
  const problems = [...files.flatMap((file) => file.problems), ...findDuplicateNames(documents)]
  if (problems.length > 0) throw new PolicyError(problems)
  return documents
}

/**
 * Decisions refer to a policy by name only, so names must be unique. The documents of a policy with `forEach` have its
 * position.
 */
function findDuplicateNames(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const policies = groupBy(documents, ({ file, line, column }) => `${file}:${line}:${column}`)
  const seen = new Map<string, PolicyDocument>()
  return [...policies.values()].flatMap(([document]) => {
    if (document === undefined) return []
    const { file, line, column } = document
    const name = getPolicyName(document)
    const before = seen.get(name)
    if (before === undefined) seen.set(name, document)
    const message = `metadata.name: duplicate policy name "${name}", also in ${before?.file}:${before?.line}`
    return before === undefined ? [] : [{ file, line, column, message }]
  })
}
