import type { PolicyKubernetesSettings } from '../../config/index.ts'
import { createKubernetesClient, inCluster } from '../../kubernetes/index.ts'
import {
  createStatusWriter,
  fileOfResource,
  type PolicyVocabulary,
  type ResourceResult,
  watchKubernetesPolicies,
} from '../../policy/index.ts'
import type { Bootstrap } from './open-observability.ts'

export type PolicyResources = ReturnType<typeof openPolicyResources>

/** Opens the policies in Kubernetes of a gateway. Sends nothing before `open`. */
export function openPolicyResources(
  { namespaces }: PolicyKubernetesSettings,
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
  const status = createStatusWriter({
    client,
    onError: ({ message }) => log.warn({ error: message }, 'policy status not written'),
  })
  closers.push(() => status.close())
  const logChanges = createResultLog(log)
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
      const accepted = remaining.filter(isAccepted).length
      metrics.policy_resources.set({ state: 'accepted' }, accepted)
      metrics.policy_resources.set({ state: 'refused' }, remaining.length - accepted)
      logChanges(remaining)
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

/** Logs each refusal once, until it changes. */
function createResultLog(log: Bootstrap['log']): (results: readonly ResourceResult[]) => void {
  let logged: ReadonlySet<string> = new Set()
  return (results) => {
    const current = new Set<string>()
    for (const result of results) {
      const { resource, generation, reason, message: error } = result
      if (isAccepted(result)) continue
      const policy = fileOfResource(resource)
      const key = `${policy} ${generation} ${reason} ${error}`
      current.add(key)
      if (logged.has(key)) continue
      log.warn({ policy, reason, error }, 'policy resource refused')
    }
    logged = current
  }
}

function isAccepted({ reason }: ResourceResult): boolean {
  return reason === 'Accepted'
}
