import type { AuditLog } from '../../audit/index.ts'
import { createThrottledLog } from '../../observability/index.ts'
import {
  combineSources,
  createSettingsVocabulary,
  describeConditionError,
  listIgnoredFiles,
  type PolicySources,
  watchFolders,
} from '../../policy/index.ts'
import type { Bootstrap } from './open-observability.ts'

/**
 * Opens the policies of all sources, and watches them. Throws PolicyError if any cannot be loaded at the start; a later
 * change that cannot be loaded changes nothing.
 */
export async function openPolicies(bootstrap: Bootstrap, audit: AuditLog) {
  const { settings, closers, metrics, log } = bootstrap
  const { folder, kubernetes } = settings.policies
  const vocabulary = createSettingsVocabulary(settings)
  // A folder that cannot be read is an error of its policies.
  const files = await listIgnoredFiles(folder).catch(() => [])
  if (files.length > 0) log.warn({ files }, 'files beside policies ignored: expected .yaml or .yml')
  // Imported on demand: a gateway without policies in Kubernetes does not load the client.
  const opener = kubernetes && (await import('./open-policy-resources.ts'))
  const resources = kubernetes && opener?.openPolicyResources(kubernetes.namespaces, vocabulary, bootstrap)
  const reportSuccess = (revision: string): void => {
    metrics.policy_info.reset()
    metrics.policy_info.set({ revision }, 1)
    metrics.policy_last_reload_success_timestamp_seconds.setToCurrentTime()
  }
  metrics.policy_last_reload_successful.set(1)
  const logFailure = createThrottledLog(log, 1)
  const logDifference = createThrottledLog(log, 10)
  // Files come first: among rules of one namespace that apply, the first one is named in decisions.
  const folders: PolicySources = watchFolders(folder, vocabulary)
  const sources = resources === undefined ? folders : new Map([...folders, [undefined, resources.open]])
  const policies = await combineSources(sources, {
    onConditionFailure({ policy, rule, file, line }, effect, error) {
      metrics.policy_condition_failures_total.inc({ effect })
      const members = { policy, rule, file, line, effect, error: describeConditionError(error) }
      logFailure('warn', effect, members, 'policy condition failed')
    },
    onShadowDifference({ request: { principal, permission: operation, id }, live, candidate }) {
      const change = candidate === undefined ? 'undecided' : live.allowed ? 'allow_to_deny' : 'deny_to_allow'
      metrics.policy_shadow_differences_total.inc({ operation, change })
      const rules = { rule: live.rule, candidateRule: candidate?.rule }
      const members = { operation, id, principal: principal.name, change, ...rules }
      logDifference('info', change, members, 'shadow decision differs')
    },
    onChange({ error, set: { revision }, folder, hasError }) {
      const isFailure = error !== undefined
      metrics.policy_reloads_total.inc({ result: isFailure ? 'failure' : 'success' })
      metrics.policy_last_reload_successful.set(hasError ? 0 : 1)
      const details = { result: 'failure' }
      audit.recordReload({ what: 'policies', revision, ...(isFailure && { details }) })
      if (isFailure) log.error({ error: String(error), folder }, 'policy reload failed')
      else {
        reportSuccess(revision)
        log.info({ revision, folder }, 'policies reloaded')
      }
    },
  })
  closers.push(() => policies.close())
  const { revision, documents } = policies.current()
  reportSuccess(revision)
  if (documents.length === 0) log.warn({ source: folder.join() }, 'no policies: every request is denied')
  /** Describes for an operator why changes of resources are not seen; undefined if they are. */
  const findProblem = (): string | undefined => resources?.findProblem()
  return { ...policies, findProblem }
}
