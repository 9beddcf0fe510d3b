import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { LastGoodSettings } from '../../config/policy-settings.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { readLastGoodKey } from '../../policy/source/last-good/last-good-key.ts'
import {
  createLastGoodPolicies,
  type LastGoodPolicies,
  type LastGoodUse,
} from '../../policy/source/last-good/last-good-policies.ts'
import type { Bootstrap } from './open-observability.ts'

interface OpenedLastGood {
  readonly lastGood: LastGoodPolicies
  readonly checks: readonly ReadinessCheck[]
}

/** Reports the use of last good policies in the log, a metric, the readiness and the audit log. Throws for an unusable key. */
export async function openLastGood(
  settings: LastGoodSettings,
  { closers, metrics, log }: Bootstrap,
  audit: AuditLog,
  vocabulary: PolicyVocabulary,
): Promise<OpenedLastGood> {
  let inUse: LastGoodUse | undefined
  let isExpired = false
  const lastGood = createLastGoodPolicies({
    ...settings,
    key: await readLastGoodKey(settings),
    vocabulary,
    recordedRevision: audit.recovery.policyFiles,
    record: (revision, use) =>
      audit.recordPolicyFiles(revision, use && { result: 'last_good', usableUntil: use.usableUntil }),
    onUse: (use, error) => {
      inUse = use
      metrics.policyLastGood.set(1)
      log.error({ ...use, error: error.message }, 'policies do not compile: last good policies in force')
    },
    onExpiry: (use) => {
      isExpired = true
      log.error({ ...use }, 'last good policies expired: every request is denied')
    },
    onRecovery: () => {
      inUse = undefined
      isExpired = false
      metrics.policyLastGood.set(0)
    },
    onStoreError: (error) => log.error({ error: String(error) }, 'last good policies cannot be stored'),
  })
  closers.push(() => lastGood.close())
  const checks: readonly ReadinessCheck[] = [
    {
      name: 'last_good_policies',
      isWarning: true,
      findProblem: () =>
        inUse && `the policies do not compile: those in force since ${inUse.inForceSince} are used instead`,
    },
    {
      name: 'last_good_policies_expired',
      findProblem: () =>
        isExpired
          ? 'the policies do not compile, and the last good ones expired: every request is denied'
          : undefined,
    },
  ]
  return { lastGood, checks }
}
