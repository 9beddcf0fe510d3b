import { reserveNetwork } from './node/cluster-network.ts'
import { startNode } from './node/node-agent.ts'
import { startServiceProxy } from './node/service-proxy.ts'
import { startVolumeProvisioner } from './node/volume-provisioner.ts'
import { startApiServer, type ApiServer } from './start-api-server.ts'
import { startControllers } from './start-controllers.ts'

export interface Cluster {
  readonly apiServer: ApiServer
  close(): Promise<void>
}

/** Starts Kubernetes with one node, whose pods are processes of this machine. Needs root. */
export async function startCluster(): Promise<Cluster> {
  const closers: (() => Promise<void> | void)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const network = await reserveNetwork()
    closers.push(() => network.close())
    const { serviceAddresses, apiServerAddress, podPrefix } = network
    const apiServer = await startApiServer({ serviceAddresses })
    closers.push(() => apiServer.close())
    network.setApiServerPort(Number(new URL(apiServer.url).port))
    const controllers = startControllers(apiServer)
    closers.push(() => controllers.close())
    const volumes = await startVolumeProvisioner(apiServer)
    closers.push(() => volumes.close())
    const proxy = startServiceProxy({ client: apiServer.client, apiServerAddress })
    closers.push(() => proxy.close())
    const node = await startNode({
      apiServer,
      podPrefix,
      apiServerAddress,
      hosts: (namespace) => proxy.hosts(namespace),
    })
    closers.push(() => node.close())
    return { apiServer, close }
  } catch (error) {
    await close()
    throw error
  }
}
