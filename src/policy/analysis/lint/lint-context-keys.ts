import type { PolicyDocument } from '../../language/policy-document.ts'
import { createFinding, type Finding } from './finding.ts'
import type { KnownSettings } from './known-settings.ts'

/**
 * Finds conditions on context keys that the audit log does not record: nobody can see later what the caller stated. An
 * info if the settings are not known.
 */
export function lintContextKeys(
  documents: readonly PolicyDocument[],
  { recordedContextKeys }: KnownSettings,
): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const keys =
        rule.condition?.contextKeys.filter((key) => recordedContextKeys?.includes(key) !== true) ?? []
      return keys.map((key) => {
        const [level, what] =
          recordedContextKeys === undefined
            ? (['info', 'is recorded only if the settings say so; add it'] as const)
            : (['warning', 'is not recorded; add it'] as const)
        const message = `has a condition on the context key "${key}", which ${what} to audit.redaction.recordedContextKeys`
        return createFinding(document, rule, level, 'context', message)
      })
    }),
  )
}
