import type { PolicyNamespace } from '../../config/index.ts'
import { createKubernetesClient, inCluster } from '../../kubernetes/index.ts'
import { createThrottledLog } from '../../observability/index.ts'
import {
  createStatusWriter,
  fileOfResource,
  type PolicyVocabulary,
  watchKubernetesPolicies,
} from '../../policy/index.ts'
import type { Bootstrap } from './open-observability.ts'

/** Opens the policies in Kubernetes of a gateway. Sends nothing before `open`. */
export function openPolicyResources(
  namespaces: readonly PolicyNamespace[],
  vocabulary: PolicyVocabulary,
  { closers, metrics, log, tuning }: Pick<Bootstrap, 'closers' | 'metrics' | 'log' | 'tuning'>,
) {
  const client = createKubernetesClient(tuning.apiServer ?? inCluster)
  closers.push(() => client.close())
  const names = namespaces.map(({ name }) => name)
  const { policy_watch_connected: connected, policy_watch_last_connected_timestamp_seconds: lastConnected } =
    metrics
  for (const state of ['accepted', 'refused'] as const) metrics.policy_resources.set({ state }, 0)
  for (const name of names) connected.set({ kubernetes_namespace: name }, 0)
  const logThrottled = createThrottledLog(log, 1)
  const status = createStatusWriter({
    client,
    onError: ({ message }) =>
      logThrottled('warn', 'policy status', { error: message }, 'policy status not written'),
  })
  closers.push(() => status.close())
  /** Refusals that were logged, each until it changes. */
  let logged = new Set<string>()
  /** Last error by Kubernetes namespace. */
  const errors = new Map<string, string>()

  const open = watchKubernetesPolicies({
    client,
    namespaces,
    vocabulary,
    onConnect(namespace) {
      connected.set({ kubernetes_namespace: namespace }, 1)
      lastConnected.setToCurrentTime({ kubernetes_namespace: namespace })
      if (errors.delete(namespace)) log.info({ namespace }, 'policy watch connected')
    },
    onError(namespace, { message }) {
      connected.set({ kubernetes_namespace: namespace }, 0)
      if (errors.get(namespace) !== message) log.warn({ namespace, error: message }, 'policy watch failed')
      errors.set(namespace, message)
    },
    onResults(results) {
      const remaining = results.filter(({ reason }) => reason !== 'Terminating')
      const refused = remaining.filter(({ reason }) => reason !== 'Accepted')
      metrics.policy_resources.set({ state: 'accepted' }, remaining.length - refused.length)
      metrics.policy_resources.set({ state: 'refused' }, refused.length)
      const before = logged
      logged = new Set()
      for (const { resource, generation, reason, message: error } of refused) {
        const policy = fileOfResource(resource)
        const key = `${policy} ${generation} ${reason} ${error}`
        if (!before.has(key)) log.warn({ policy, reason, error }, 'policy resource refused')
        logged.add(key)
      }
      status.report(results)
    },
  })
  return {
    open,
    /** Describes which Kubernetes namespaces are not connected; undefined if all are. */
    findProblem: (): string | undefined =>
      errors.size === 0
        ? undefined
        : `the last policies stay in force; not connected: ${names.filter((name) => errors.has(name)).join(', ')}`,
  }
}
