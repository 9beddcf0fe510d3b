import { Gauge, type Registry } from 'prom-client'

/** Metrics of policies in Kubernetes. Labels are names in the settings. */
export interface PolicyResourceMetrics {
  /** Sets how many resources are accepted and refused in all Kubernetes namespaces. */
  setResources(count: Readonly<Record<'accepted' | 'refused', number>>): void
  setConnected(namespace: string, isConnected: boolean): void
}

/** Kubernetes scraping sets `namespace` to that of the pod. */
const namespaceLabel = 'kubernetes_namespace'

/** Starts with no resources, and not connected to any of the Kubernetes namespaces. */
export function registerPolicyResourceMetrics(
  registry: Registry,
  namespaces: readonly string[],
): PolicyResourceMetrics {
  const registers = [registry]
  const resources = new Gauge({
    name: 'catalog_gateway_policy_resources',
    help: 'AccessPolicy resources by state (accepted, refused).',
    labelNames: ['state'],
    registers,
  })
  const connected = new Gauge({
    name: 'catalog_gateway_policy_watch_connected',
    help: 'Whether changes of the AccessPolicy resources in a Kubernetes namespace arrive (1) or not (0).',
    labelNames: [namespaceLabel],
    registers,
  })
  const lastConnected = new Gauge({
    name: 'catalog_gateway_policy_watch_last_connected_timestamp_seconds',
    help: 'Unix time at which the AccessPolicy resources in a Kubernetes namespace were last known to be complete.',
    labelNames: [namespaceLabel],
    registers,
  })
  function setResources(count: Readonly<Record<'accepted' | 'refused', number>>): void {
    for (const [state, value] of Object.entries(count)) resources.set({ state }, value)
  }
  setResources({ accepted: 0, refused: 0 })
  for (const namespace of namespaces) connected.set({ [namespaceLabel]: namespace }, 0)
  return {
    setResources,
    setConnected(namespace, isConnected) {
      connected.set({ [namespaceLabel]: namespace }, isConnected ? 1 : 0)
      if (isConnected) lastConnected.setToCurrentTime({ [namespaceLabel]: namespace })
    },
  }
}
