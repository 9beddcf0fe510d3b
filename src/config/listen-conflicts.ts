import {
  isSameListenAddress,
  leadsToAddress,
  type ListenAddress,
  type SettingProblem,
} from '../settings/index.ts'

interface ListeningSettings {
  readonly listen: ListenAddress
  readonly admin: ListenAddress
  readonly upstream?: { readonly url: string } | undefined
  readonly upstreams?: readonly { readonly url: string }[] | undefined
  readonly passThrough?:
    | { readonly port: number; readonly routes: readonly { readonly upstream: string }[] }
    | undefined
}

/** Returns ports that two servers of a gateway would listen on, and URLs that lead to the gateway itself. */
export function findListenConflicts(settings: ListeningSettings): readonly SettingProblem[] {
  const { listen, admin, upstream, upstreams = [], passThrough } = settings
  const servers = [
    { path: ['listen'], address: listen },
    { path: ['admin'], address: admin },
    ...(passThrough
      ? [{ path: ['passThrough'], address: { host: listen.host, port: passThrough.port } }]
      : []),
  ]
  const urls = [
    ...(upstream ? [{ path: ['upstream', 'url'], url: upstream.url }] : []),
    ...upstreams.map(({ url }, index) => ({ path: ['upstreams', index, 'url'], url })),
    ...(passThrough?.routes ?? []).map(({ upstream: url }, index) => ({
      path: ['passThrough', 'routes', index, 'upstream'],
      url,
    })),
  ]
  return [
    ...servers.flatMap(({ path, address }, index) =>
      servers
        .slice(0, index)
        .filter((before) => isSameListenAddress(before.address, address))
        .map((before) => ({
          path: [...path, 'port'],
          message: `port ${address.port} is that of ${before.path.join('.')}; expected another one`,
        })),
    ),
    ...urls.flatMap(({ path, url }) =>
      servers
        .filter(({ address }) => leadsToAddress(url, address))
        .map((server) => ({
          path,
          message: `is the address of this gateway (${server.path.join('.')}); expected that of the upstream`,
        })),
    ),
  ]
}
