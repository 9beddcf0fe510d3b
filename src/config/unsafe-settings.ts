import { isLoopback } from '../settings/index.ts'
import type { ListenSettings } from './listen-settings.ts'
import type { UpstreamSettings } from './upstream/upstream-settings.ts'

/** Settings that `unsafe` can accept. Tokens without an audience are not among them: no setting allows them. */
export const unsafeNames = [
  'development-key',
  'development-policies',
  'open-console',
  'plain-http-issuer',
] as const
export type UnsafeName = (typeof unsafeNames)[number]

export function acceptanceHint(name: UnsafeName): string {
  return `or unsafe: [${name}]`
}

/** Returns what is allowed, but dangerous, each with the path of its setting. */
export function findSettingsWarnings(settings: {
  readonly listen: ListenSettings
  readonly upstreams: readonly UpstreamSettings[]
}): readonly string[] {
  const { host, tls, trustedProxies, clientCertificateFrom } = settings.listen
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
  for (const { name, url } of settings.upstreams)
    if (/\/v1\/?$/.test(url))
      warnings.push(`url of the upstream ${name}: is ${url}; omit /v1, which the gateway appends itself`)
  return warnings
}
