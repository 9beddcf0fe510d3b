import type { AuditSettings } from '../audit/audit-settings.ts'
import type { UpstreamSettings } from './upstream-settings.ts'

/** Classes of operations that create, remove or replace versions. */
const comparedClasses = ['commit', 'data', 'admin'] as const

/** Why the audit log could not tell versions of others from those of this gateway; undefined if it can. */
export function findComparisonProblem(
  { compareVersionsSeconds }: Pick<UpstreamSettings, 'compareVersionsSeconds'>,
  { audit }: { readonly audit: AuditSettings },
): string | undefined {
  if (compareVersionsSeconds === undefined) return undefined
  if (audit.continuity === 'off')
    return 'with audit.continuity: off, versions of others are not recorded; expected warn'
  const incomplete = comparedClasses.find((name) => ['besteffort', 'off'].includes(audit.modes[name]))
  if (incomplete === undefined) return undefined
  const mode = `audit.modes.${incomplete}: ${audit.modes[incomplete]}`
  return `with ${mode}, the log may lack versions of this gateway; expected strict or durable`
}
