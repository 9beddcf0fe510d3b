import type { Service } from 'kubernetes-types/core/v1.js'
import type { EndpointSlice } from 'kubernetes-types/discovery/v1.js'
import type { ApiClient } from '../api-client.ts'
import { toLoopback } from './loopback-address.ts'
import { startPolling } from './polling.ts'
import { startTcpProxy, type Target, type TcpProxy } from './tcp-proxy.ts'

/** Stands for kube-proxy and the DNS of a cluster. */
export interface ServiceProxy {
  /** Names of Services in the format of `/etc/hosts`, as pods of a namespace resolve them. */
  hosts(namespace: string): string
  close(): Promise<void>
}

interface Options {
  readonly client: ApiClient
  readonly apiServerAddress: string
}

/** How long nodes take to apply a change. */
const delayMs = 1_000

type Rules = ReadonlyMap<string, readonly Target[]>
type Slices = readonly EndpointSlice[]

/** Proxies connections to addresses of Services to their endpoints. A Service without endpoints refuses them. */
export function startServiceProxy({ client, apiServerAddress }: Options): ServiceProxy {
  let isClosed = false
  const proxies = new Map<string, Promise<TcpProxy | undefined>>()
  let rules: Rules = new Map()
  let services: readonly Service[] = []
  let slices: Slices = []

  const apply = (next: Rules) => {
    if (isClosed) return
    rules = next
    for (const [key, proxy] of proxies) {
      if ((rules.get(key)?.length ?? 0) > 0) continue
      proxies.delete(key)
      void proxy.then((proxy) => proxy?.close())
    }
    for (const [key, targets] of rules) {
      if (targets.length === 0 || proxies.has(key)) continue
      const [host = '', port] = key.split(' ')
      const proxy = startTcpProxy(host, Number(port), () => chooseOne(rules.get(key) ?? []))
      // Tried again with the next change.
      proxies.set(
        key,
        proxy.catch(() => (proxies.delete(key), undefined)),
      )
    }
  }

  const readServices = async () => {
    services = (await client.get<{ items: readonly Service[] }>('/api/v1/services')).items
    const path = '/apis/discovery.k8s.io/v1/endpointslices'
    slices = (await client.get<{ items: Slices }>(path)).items
    const next = createRules(services, slices, apiServerAddress)
    setTimeout(() => apply(next), delayMs)
  }

  const polling = startPolling(readServices)
  return {
    hosts: (namespace) => services.map((service) => toHosts(service, slices, namespace)).join(''),
    async close() {
      isClosed = true
      await polling.close()
      for (const proxy of proxies.values()) (await proxy)?.close()
    },
  }
}

/** Targets by address and port. */
function createRules(services: readonly Service[], slices: Slices, apiServerAddress: string): Rules {
  const rules = new Map<string, readonly Target[]>()
  for (const service of services) {
    const address = service.spec?.clusterIP ?? 'None'
    if (address === 'None' || address === apiServerAddress) continue
    for (const { port, name } of service.spec?.ports ?? []) {
      rules.set(`${toLoopback(address)} ${port}`, findTargets(service, slices, name))
    }
  }
  return rules
}

/** Ready endpoints; without any, those that still serve while they end. */
function findTargets(service: Service, slices: Slices, portName: string | undefined): readonly Target[] {
  const all = slicesOf(service, slices).flatMap(({ ports, endpoints }) => {
    const port = ports?.find(({ name = '' }) => name === (portName ?? ''))?.port
    if (port === undefined) return []
    return listOf(endpoints).map(({ addresses, conditions = {} }) => ({
      target: { host: toLoopback(addresses[0] ?? ''), port },
      conditions,
    }))
  })
  const ready = all.filter(({ conditions }) => conditions.ready)
  const serving = all.filter(({ conditions }) => conditions.serving && conditions.terminating)
  return (ready.length > 0 ? ready : serving).map(({ target }) => target)
}

function toHosts(service: Service, slices: Slices, namespace: string): string {
  const { name = '', namespace: own = '' } = service.metadata ?? {}
  const address = service.spec?.clusterIP ?? 'None'
  const ready = slicesOf(service, slices)
    .flatMap(({ endpoints }) => listOf(endpoints))
    .filter(({ conditions }) => conditions?.ready)
  const addresses = address === 'None' ? ready.map(({ addresses }) => addresses[0] ?? '') : [address]
  const names = ['.svc.cluster.local', '.svc', ''].map((domain) => `${name}.${own}${domain}`)
  const all = own === namespace ? [name, ...names] : names
  return addresses.map((address) => `${toLoopback(address)} ${all.join(' ')}\n`).join('')
}

function slicesOf({ metadata }: Service, slices: Slices): Slices {
  return slices.filter(
    (slice) =>
      slice.metadata?.namespace === metadata?.namespace &&
      slice.metadata?.labels?.['kubernetes.io/service-name'] === metadata?.name,
  )
}

/** An API server writes empty lists of slices as null. */
function listOf<Item>(items: readonly Item[] | null): readonly Item[] {
  return items ?? []
}

function chooseOne(targets: readonly Target[]): Target | undefined {
  return targets[Math.floor(Math.random() * targets.length)]
}
