import { isLoopback } from './listen-address.ts'
import type { GatewaySettings } from './gateway-settings.ts'

/** Returns what is allowed, but dangerous, each with the path of its setting. */
export function findSettingsWarnings({ listen }: GatewaySettings): readonly string[] {
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
