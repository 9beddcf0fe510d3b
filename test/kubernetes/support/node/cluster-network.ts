import { startTcpProxy } from './tcp-proxy.ts'

/** The addresses of a cluster, which no other cluster on this machine uses. */
export interface ClusterNetwork {
  /** As a CIDR in 10.0.0.0/8. */
  readonly serviceAddresses: string
  /** The Service `kubernetes`. */
  readonly apiServerAddress: string
  /** The first numbers of addresses of pods, such as `10.3`. */
  readonly podPrefix: string
  /** Sets the port of the API server on 127.0.0.1. */
  setApiServerPort(port: number): void
  close(): void
}

/** Reserves addresses by listening at that of the API server. */
export async function reserveNetwork(): Promise<ClusterNetwork> {
  for (let number = 2; number < 250; number += 2) {
    let port: number | undefined
    const choose = () => (port === undefined ? undefined : { host: '127.0.0.1', port })
    const proxy = await startTcpProxy(`127.${number}.0.1`, 443, choose).catch(() => undefined)
    if (proxy === undefined) continue
    return {
      serviceAddresses: `10.${number}.0.0/16`,
      apiServerAddress: `10.${number}.0.1`,
      podPrefix: `10.${number + 1}`,
      setApiServerPort: (found) => (port = found),
      close: () => proxy.close(),
    }
  }
  throw new Error('port 443 is in use at all addresses')
}
