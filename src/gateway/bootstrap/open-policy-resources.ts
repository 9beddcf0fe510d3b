import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { PolicyKubernetesSettings } from '../../config/policy-kubernetes-settings.ts'
import { createKubernetesClient, type KubernetesClient } from '../../lib/kubernetes/kubernetes-client.ts'
import type { KubernetesError } from '../../lib/kubernetes/kubernetes-error.ts'
import { holdLease } from '../../lib/kubernetes/leader-lease.ts'
import { registerPolicyResourceMetrics } from '../../observability/metrics/policy-resource-metrics.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import {
  createKubernetesPolicies,
  type KubernetesPolicies,
} from '../../policy/source/kubernetes/kubernetes-policies.ts'
import type { ResourceResult } from '../../policy/source/kubernetes/resource-status.ts'
import { fileOfResource } from '../../policy/source/kubernetes/resource-text.ts'
import { createStatusReporter } from '../../policy/source/kubernetes/status-reporter.ts'
import type { Bootstrap } from './open-observability.ts'

/** The policies in Kubernetes of a gateway. */
export interface PolicyResources extends KubernetesPolicies {
  /** Describes which Kubernetes namespaces are not connected; undefined if all are. */
  findProblem(): string | undefined
}

/** Sends nothing before `open`, except for the Lease. */
export function openPolicyResources(
  settings: PolicyKubernetesSettings,
  vocabulary: PolicyVocabulary,
  { closers, metrics, log }: Pick<Bootstrap, 'closers' | 'metrics' | 'log'>,
): PolicyResources {
  const { namespaces } = settings
  const client = createKubernetesClient(settings)
  closers.push(() => client.close())
  const names = namespaces.map(({ name }) => name)
  const gauges = registerPolicyResourceMetrics(metrics.registry, names)
  const writeStatus = openStatus(settings, client, { closers, log })
  const logChanges = createResultLog(log)
  /** Last error by Kubernetes namespace. */
  const errors = new Map<string, string>()

  const policies = createKubernetesPolicies({
    client,
    namespaces,
    vocabulary,
    observer: {
      onConnect(namespace) {
        gauges.setConnected(namespace, true)
        if (errors.delete(namespace)) log.info({ namespace }, 'policy watch connected')
      },
      onError(namespace, { message }) {
        gauges.setConnected(namespace, false)
        if (errors.get(namespace) !== message) log.warn({ namespace, error: message }, 'policy watch failed')
        errors.set(namespace, message)
      },
      onResults(results) {
        const remaining = results.filter(({ accepted }) => accepted.reason !== 'Terminating')
        const accepted = remaining.filter(isAccepted).length
        gauges.setResources({ accepted, refused: remaining.length - accepted })
        logChanges(remaining)
        writeStatus(results)
      },
    },
  })
  return {
    ...policies,
    findProblem: () =>
      errors.size === 0
        ? undefined
        : `the last policies stay in force; not connected: ${names.filter((name) => errors.has(name)).join(', ')}`,
  }
}

/** Returns what writes the status of resources, if the settings name a Lease. */
function openStatus(
  { lease: named }: PolicyKubernetesSettings,
  client: KubernetesClient,
  { closers, log }: Pick<Bootstrap, 'closers' | 'log'>,
): (results: readonly ResourceResult[]) => void {
  if (named === undefined) return () => undefined
  const onLeaseError = ({ message }: KubernetesError): void =>
    log.warn({ error: message }, 'policy lease not renewed')
  const onStatusError = ({ message }: KubernetesError): void =>
    log.warn({ error: message }, 'policy status not written')
  const lease = holdLease({
    client,
    ...named,
    identity: `${hostname()}_${randomUUID()}`,
    onError: onLeaseError,
  })
  closers.push(() => lease.close())
  const reporter = createStatusReporter({ client, lease, onError: onStatusError })
  closers.push(() => reporter.close())
  return (results) => reporter.report(results)
}

/** Logs each refusal and each grant without effect once, until it changes. */
function createResultLog(log: Bootstrap['log']): (results: readonly ResourceResult[]) => void {
  let logged: ReadonlySet<string> = new Set()
  return (results) => {
    const current = new Set<string>()
    for (const result of results) {
      const { resource, accepted, conflict } = result
      const found = isAccepted(result) ? conflict : accepted
      if (found.reason === 'NoConflict') continue
      const policy = fileOfResource(resource)
      const key = `${policy} ${resource.metadata.generation} ${found.reason} ${found.message}`
      current.add(key)
      if (logged.has(key)) continue
      const fields = { policy, reason: found.reason, error: found.message }
      log.warn(fields, isAccepted(result) ? 'policy resource has no effect' : 'policy resource refused')
    }
    logged = current
  }
}

function isAccepted({ accepted }: ResourceResult): boolean {
  return accepted.reason === 'Accepted'
}
