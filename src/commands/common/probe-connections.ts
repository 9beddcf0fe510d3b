import { type GatewaySettings, resolveTracesEndpoint } from '../../config/index.ts'
import { inCluster } from '../../kubernetes/index.ts'
import { defaultJwksTiming, openIssuerFetcher } from '../../identity/index.ts'
import { fixed, readTlsFiles, type TlsFiles, toError } from '../../lib/index.ts'
import {
  createSocketOpener,
  describeConnectFailure,
  openWithin,
  type Outbound,
  type OutboundTarget,
} from '../../outbound/index.ts'
import { CommandFailure } from './command-failure.ts'
import type { Io } from './io.ts'

/** A host that a gateway connects to, besides its upstreams. */
interface Connection {
  /** Its settings, with the name of an entry of a list. */
  readonly setting: string
  readonly target: OutboundTarget
  readonly tls: TlsFiles
  /** Connections of other protocols than HTTP, and those to the API server of Kubernetes, have none. */
  readonly mayHaveProxy: boolean
}

const timeoutMs = 10_000

/**
 * Connects to each host that the settings name besides the upstreams, fetches the keys of issuers, and prints to stderr
 * which connections work. Throws CommandFailure with all that do not, and why.
 */
export async function probeConnections(
  settings: GatewaySettings,
  outbound: Outbound,
  { stderr, environment }: Io,
): Promise<void> {
  const failures: string[] = []
  const attempt = async (what: string, how: string, connect: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now()
    try {
      await connect()
      stderr.write(`${what}: ${how} in ${Math.round(performance.now() - startedAt)} ms\n`)
    } catch (error) {
      failures.push(`${what} cannot be reached:\n  ${describeConnectFailure(error)}`)
    }
  }
  for (const issuer of settings.identity.issuers) {
    const { jwks, name } = issuer
    if ('file' in jwks) continue
    const fetchKeys = async (): Promise<unknown> =>
      (await openIssuerFetcher(issuer, jwks.url, outbound))(
        AbortSignal.timeout(defaultJwksTiming.timeout * 1000),
      )
    await attempt(`identity.issuers.${name} (${jwks.url ?? issuer.issuer})`, 'keys fetched', fetchKeys)
  }
  for (const connection of [...listConnections(settings, environment), ...listApiServers(settings)]) {
    const { setting, target, mayHaveProxy } = connection
    const proxy = mayHaveProxy ? outbound.findProxy(target) : undefined
    const how = proxy === undefined ? 'connected' : `connected through the proxy ${proxy.url.origin}`
    await attempt(`${setting} (${target.host}:${target.port})`, how, () => connect(connection, outbound))
  }
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
}

/**
 * Reads the TLS files of all connections, except those to the API server of Kubernetes, which only pods have; calls
 * `report` for each that cannot be used.
 */
export async function checkTlsFiles(
  settings: GatewaySettings,
  environment: NodeJS.ProcessEnv,
  report: (setting: string, error: Error) => void,
): Promise<void> {
  const { issuers } = settings.identity
  const used = [
    ...issuers.map(({ name, caFile }) => ({ setting: `identity.issuers.${name}`, tls: { caFile } })),
    ...listConnections(settings, environment),
  ]
  for (const { setting, tls } of used) {
    await readTlsFiles(tls, `of ${setting}`).catch((error: unknown) => report(setting, toError(error)))
  }
}

async function connect(
  { setting, target, tls, mayHaveProxy }: Connection,
  outbound: Outbound,
): Promise<void> {
  const material = fixed(await readTlsFiles(tls, `of ${setting}`))
  const defaults = mayHaveProxy ? outbound : { ...outbound, findProxy: () => undefined }
  const opener = createSocketOpener(defaults, material)
  await new Promise<void>((resolve, reject) => {
    openWithin(opener, timeoutMs, target, (error, socket) => {
      if (error !== null) return reject(error)
      socket.destroy()
      resolve()
    })
  })
}

function listConnections(settings: GatewaySettings, environment: NodeJS.ProcessEnv): readonly Connection[] {
  const { identity, passThrough, audit, traces, limits } = settings
  const connections: Connection[] = []
  const add = (setting: string, url: string, tls: Connection['tls'], mayHaveProxy = true): void =>
    void connections.push({ setting, target: toTarget(url), tls, mayHaveProxy })
  if (identity.introspection)
    add('identity.introspection', identity.introspection.url, identity.introspection)
  for (const { prefix, upstream } of passThrough?.routes ?? []) add(`passThrough.${prefix}`, upstream, {})
  for (const sink of audit.sinks) {
    const setting = `audit.sinks.${sink.name}`
    if (sink.type === 'otlp') add(setting, sink.url, sink)
  }
  if (traces) {
    const { url } = resolveTracesEndpoint(traces, environment)
    if (URL.canParse(url)) add('traces', url, { caFile: traces.caFile })
  }
  if (limits.shared) {
    const { protocol, hostname, port } = new URL(limits.shared.url)
    const scheme = protocol === 'rediss:' ? 'https' : 'http'
    add('limits.shared', `${scheme}://${hostname}:${port || 6379}`, limits.shared.tls ?? {}, false)
  }
  return connections
}

function listApiServers({ identity, policies }: GatewaySettings): readonly Connection[] {
  const { apiServer, caFile } = inCluster
  return [
    ...(identity.kubernetes ? ['identity.kubernetes'] : []),
    ...(policies.kubernetes ? ['policies.kubernetes'] : []),
  ].map((setting) => ({ setting, target: toTarget(apiServer), tls: { caFile }, mayHaveProxy: false }))
}

function toTarget(text: string): OutboundTarget {
  const { protocol, hostname, port } = new URL(text)
  const isSecure = protocol === 'https:'
  return { isSecure, host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || (isSecure ? 443 : 80) }
}
