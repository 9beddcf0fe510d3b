import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pod } from 'kubernetes-types/core/v1.js'
import type { ApiServer } from '../start-api-server.ts'
import { toLoopback } from './loopback-address.ts'
import { startNodeServer } from './node-server.ts'
import { startPolling } from './polling.ts'
import { RunningPod } from './running-pod.ts'

export interface NodeAgent {
  close(): Promise<void>
}

interface Options {
  readonly apiServer: ApiServer
  /** The first numbers of addresses of pods, such as `10.3`. */
  readonly podPrefix: string
  /** Where pods reach the API server, in 10.0.0.0/8. */
  readonly apiServerAddress: string
  /** The `/etc/hosts` of pods of a namespace. */
  readonly hosts: (namespace: string) => string
}

interface PodList {
  readonly items: readonly Pod[]
}

const nodeName = 'node'

/** Starts a node that runs the pods which the scheduler assigns to it as processes of this machine. */
export async function startNode({
  apiServer,
  podPrefix,
  apiServerAddress,
  hosts,
}: Options): Promise<NodeAgent> {
  const { client, folder } = apiServer
  const logFolder = join(folder, 'logs')
  await mkdir(logFolder)
  const server = await startNodeServer(join(folder, 'certificates'), logFolder)
  await register(apiServer, server.port)
  const pods = new Map<string, RunningPod>()
  const environment = {
    KUBERNETES_SERVICE_HOST: toLoopback(apiServerAddress),
    KUBERNETES_SERVICE_PORT: '443',
  }
  let addresses = 0

  const add = (pod: Pod, uid: string) => {
    addresses += 1
    const address = `${podPrefix}.${1 + Math.floor(addresses / 250)}.${1 + (addresses % 250)}`
    const podFolder = join(folder, 'pods', uid)
    const running = new RunningPod({ pod, address, client, folder: podFolder, logFolder, environment })
    pods.set(uid, running)
    return running
  }

  const runPods = async () => {
    const { items } = await client.get<PodList>(`/api/v1/pods?fieldSelector=spec.nodeName=${nodeName}`)
    for (const pod of items) {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata ?? {}
      const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
      const running = pods.get(uid) ?? (isOver ? undefined : add(pod, uid))
      if (running === undefined) continue
      await running.writeHosts(hosts(running.names.namespace))
      running.start()
      if (deletionTimestamp !== undefined) void running.stop(deletionGracePeriodSeconds)
    }
    const present = new Set(items.map(({ metadata }) => metadata?.uid))
    for (const [uid, pod] of pods) {
      if (present.has(uid)) continue
      pods.delete(uid)
      await pod.kill()
    }
  }

  const polling = startPolling(runPods)
  return {
    async close() {
      await polling.close()
      await Promise.all([...pods.values()].map((pod) => pod.kill()))
      await server.close()
    },
  }
}

/** Announces the node, which has room for all pods. */
async function register({ client }: ApiServer, logPort: number): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
  }
  const path = '/api/v1/nodes'
  await client.post(path, { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, labels } })
  const room = { cpu: '64', memory: '256Gi', pods: '200' }
  const now = new Date().toISOString()
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
  await client.patch(
    `${path}/${nodeName}/status`,
    {
      status: {
        capacity: room,
        allocatable: room,
        conditions: [ready],
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: logPort } },
      },
    },
    'application/strategic-merge-patch+json',
  )
  // Admission adds one, which the controller of nodes would remove.
  await client.patch(`${path}/${nodeName}`, { spec: { taints: null } })
}
