import { toTarget } from '../outbound/index.ts'
import { isLoopback, type SettingProblem } from '../settings/index.ts'
import { type Sections, listCatalogs } from './sections.ts'

/** The servers of a gateway, each with the path of its settings and the address that it listens on. */
export function listServers({
  listen,
  admin,
  passThrough,
}: Pick<Sections, 'listen' | 'admin' | 'passThrough'>) {
  return [
    { path: ['listen'], address: listen },
    { path: ['admin'], address: admin },
    ...(passThrough
      ? [{ path: ['passThrough'], address: { host: listen.host, port: passThrough.port } }]
      : []),
  ]
}

/** Yields ports that two servers of a gateway would listen on, and URLs that lead to the gateway itself. */
export function* findListenConflicts(settings: Sections): Generator<SettingProblem> {
  const servers = listServers(settings)
  for (const [index, { path, address }] of servers.entries()) {
    for (const before of servers.slice(0, index)) {
      if (!isSameListenAddress(before.address, address)) continue
      const message = `port ${address.port} is that of ${before.path.join('.')}; expected another one`
      yield { path: [...path, 'port'], message }
    }
  }
  const routes = settings.passThrough?.routes ?? []
  const urls = [
    ...listCatalogs(settings).map(({ path, catalog }) => ({ path: [...path, 'url'], url: catalog.url })),
    ...routes.map(({ upstream: url }, index) => ({
      path: ['passThrough', 'routes', index, 'upstream'],
      url,
    })),
  ]
  for (const { path, url } of urls) {
    for (const server of servers) {
      if (!leadsToAddress(url, server.address)) continue
      const message = `is the address of this gateway (${server.path.join('.')}); expected that of the upstream`
      yield { path, message }
    }
  }
}

/** Where a server listens; port 0 picks a free one. */
interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Whether a server cannot listen on one address because of another one that listens on the other. */
function isSameListenAddress(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false
  const [host, otherHost] = [normalizeHost(one.host), normalizeHost(other.host)]
  return host === otherHost || isAnyAddress(host) || isAnyAddress(otherHost)
}

/** Whether a URL leads to a server on this machine that listens on the address. */
function leadsToAddress(url: string, { host, port }: ListenAddress): boolean {
  if (!URL.canParse(url)) return false
  const target = toTarget(new URL(url))
  if (target.port !== port) return false
  const [own, other] = [normalizeHost(host), normalizeHost(target.host)]
  return other === own || (isAnyAddress(own) && (isAnyAddress(other) || isLoopback(other)))
}

function normalizeHost(host: string): string {
  const lowerCase = host.toLowerCase()
  return lowerCase === 'localhost' ? '127.0.0.1' : lowerCase
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** Yields the routes that overlap each other. */
export function* findPassThroughProblems({ passThrough }: Sections): Generator<SettingProblem> {
  const prefixes = passThrough?.routes.map(({ prefix }) => prefix) ?? []
  for (const [index, prefix] of prefixes.entries()) {
    const other = prefixes.slice(0, index).find((one) => overlaps(one, prefix))
    if (other === undefined) continue
    const message = `${prefix} overlaps ${other}, the prefix of another route`
    yield { path: ['passThrough', 'routes', index, 'prefix'], message }
  }
}

/** Whether a request can be below both paths. Some servers ignore the case of letters. */
function overlaps(one: string, other: string): boolean {
  const [first, second] = [`${one}/`.toLowerCase(), `${other}/`.toLowerCase()]
  return first.startsWith(second) || second.startsWith(first)
}

/** Yields the settings about certificates of clients that have no effect, or exclude each other. */
export function* findClientStatementProblems({
  listen: { trustedProxies, clientCertificateFrom, tls },
  identity: { clientCertificates },
}: Sections): Generator<SettingProblem> {
  const requestsCertificates = tls !== undefined && tls.clientAuth !== 'none'
  if (clientCertificateFrom === undefined) {
    if (clientCertificates === undefined || requestsCertificates) return
    const message =
      'expected listen.tls.clientAuth to be optional or required, or listen.clientCertificateFrom: no client ' +
      'certificate is requested'
    yield { path: ['identity', 'clientCertificates'], message }
    return
  }
  const path = ['listen', 'clientCertificateFrom']
  const messages = [
    trustedProxies.length === 0 &&
      'expected listen.trustedProxies: what other peers state about certificates is never used',
    requestsCertificates &&
      'unexpected with listen.tls.clientAuth, which requests certificates itself; expected none there',
    clientCertificates === undefined &&
      'expected identity.clientCertificates, which names the principals of certificates',
  ]
  for (const message of messages) if (message !== false) yield { path, message }
}
