import { isLoopback } from './listen-address.ts'
import type { GatewaySettings } from './gateway-settings.ts'

/** Returns what is allowed, but dangerous, each with the path of its setting. */
export function findSettingsWarnings(settings: GatewaySettings): readonly string[] {
  return [...findListenWarnings(settings), ...findPassThroughWarnings(settings)]
}

function findListenWarnings({ listen }: GatewaySettings): readonly string[] {
  const { host, tls, trustedProxies, clientCertificateFrom } = listen
  const warnings: string[] = []
  if (tls === undefined && !isLoopback(host) && trustedProxies.length === 0) {
    warnings.push(
      `listen.tls: without it, credentials and data pass ${host} in the clear; expected tls, or trustedProxies if a proxy in ` +
        'front has it',
    )
  }
  for (const range of trustedProxies.filter((each) => each.endsWith('/0'))) {
    const claims = clientCertificateFrom === undefined ? 'any address' : 'any address and any certificate'
    warnings.push(`listen.trustedProxies: with ${range}, every client can claim ${claims}`)
  }
  return warnings
}

function findPassThroughWarnings({ passThrough, identity }: GatewaySettings): readonly string[] {
  if (identity.clientCertificates === undefined) return []
  return passThrough.flatMap(({ host, prefix }, index) =>
    host === undefined
      ? [
          `passThrough.${index}.host: pages below ${prefix} have the origin of the catalog, so their scripts can call it ` +
            'with the client certificates of their visitors; expected a host of their own',
        ]
      : [],
  )
}
