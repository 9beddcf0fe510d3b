import { isLoopback, isTrustworthyUrl, type SettingProblem } from '../settings/index.ts'
import type { ListenSettings } from './listen-settings.ts'

/** Settings that `unsafe` can accept. Tokens without an audience are not among them: no setting allows them. */
export const unsafeNames = [
  'development-key',
  'development-policies',
  'open-console',
  'plain-http-issuer',
] as const
export type UnsafeName = (typeof unsafeNames)[number]

export interface SafetyRelevantSettings {
  readonly admin: { readonly host: string; readonly console: boolean }
  readonly identity: {
    readonly issuers: readonly Issuer[]
    readonly kubernetes?: Issuer | undefined
    readonly introspection?: Issuer | undefined
  }
  readonly unsafe: readonly UnsafeName[]
}

interface Issuer {
  readonly issuer: string
}

/** Returns the unsafe settings that are not accepted by name. */
export function findUnsafeSettings({
  admin,
  identity,
  unsafe,
}: SafetyRelevantSettings): readonly SettingProblem[] {
  const found: SettingProblem[] = []
  const refuse = (name: UnsafeName, path: readonly (string | number)[], message: string): void => {
    if (!unsafe.includes(name)) found.push({ path, message: `${message}, ${acceptanceHint(name)}` })
  }
  const { issuers, kubernetes, introspection } = identity
  const issuersByPath = [
    ...issuers.map((issuer, index) => ({ path: ['issuers', index], issuer })),
    { path: ['kubernetes'], issuer: kubernetes },
    { path: ['introspection'], issuer: introspection },
  ]
  for (const { path, issuer } of issuersByPath) {
    if (issuer === undefined || !isPlainHttp(issuer.issuer)) continue
    const message = 'anybody on the network path can impersonate an http issuer; expected an https issuer'
    refuse('plain-http-issuer', ['identity', ...path, 'issuer'], message)
  }
  if (admin.console && !isLoopback(admin.host)) {
    const message =
      'the console shows principals, ids and policies without credentials; expected a loopback admin.host'
    refuse('open-console', ['admin', 'console'], message)
  }
  return found
}

export function acceptanceHint(name: UnsafeName): string {
  return `or unsafe: [${name}]`
}

function isPlainHttp(issuer: string): boolean {
  return /^http:/i.test(issuer) && !isTrustworthyUrl(issuer)
}

/** Returns what is allowed, but dangerous, each with the path of its setting. */
export function findSettingsWarnings({ listen }: { readonly listen: ListenSettings }): readonly string[] {
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
