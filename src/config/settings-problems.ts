import {
  assertIdentifier,
  createExtraOperations,
  createPermissionTable,
  describeJoinedName,
  formatNameList,
  type Identifier,
  listCommonSeparators,
  splitNames,
} from '../catalog-api/index.ts'
import { suggestSimilar } from '../lib/index.ts'
import { findErrorMessage, isLoopback, isTrustworthyUrl, type SettingProblem } from '../settings/index.ts'
import { listIssuerNames } from './identity-settings.ts'
import type { ListenSettings } from './listen-settings.ts'
import { listCatalogs, type Sections, type UnsafeName } from './sections.ts'
import type { UpstreamSettings } from './upstream/upstream-settings.ts'

type Path = readonly (string | number)[]

/** Yields the upstreams that cannot identify the caller in their way. */
export function* findCallerIdentityProblems(settings: Sections): Generator<SettingProblem> {
  const { assertion } = settings.identity
  for (const { path, catalog } of listCatalogs(settings)) {
    if (catalog.identity === 'original' && catalog.credential !== undefined) {
      const message =
        'expected none or assertion: the credential of the caller cannot be sent together with that of the gateway'
      yield { path: [...path, 'identity'], message }
    }
    if (catalog.identity === 'assertion' && assertion === undefined)
      yield { path: [...path, 'identity'], message: 'expected identity.assertion with the signing key' }
  }
}

/** Yields the names in delegations that the other settings do not have: of issuers, and of operations. */
export function* findUnknownDelegatedNames(settings: Sections): Generator<SettingProblem> {
  const issuers = listIssuerNames(settings.identity)
  const catalogs = listCatalogs(settings).map(({ catalog }) => catalog)
  const permissions = createPermissionTable(createExtraOperations(catalogs)).names
  for (const { path, namespace } of listDelegated(settings)) {
    const { subjects, additionalPermissions } = namespace
    yield* findUnknown(subjects.issuers, issuers, 'identity source', [...path, 'subjects', 'issuers'])
    const granted = [...path, 'additionalPermissions']
    yield* findUnknown(additionalPermissions, permissions, 'operation or permission', granted)
  }
}

function listDelegated({ policies }: Sections) {
  return (policies.kubernetes?.namespaces ?? []).flatMap((namespace, index) =>
    namespace.platform ? [] : [{ path: ['policies', 'kubernetes', 'namespaces', index], namespace }],
  )
}

function* findUnknown(
  names: readonly string[],
  known: readonly string[],
  kind: string,
  path: Path,
): Generator<SettingProblem> {
  for (const [index, name] of names.entries()) {
    if (known.includes(name)) continue
    const message = `unknown ${kind} ${JSON.stringify(name)}${suggestSimilar(name, known)}`
    yield { path: [...path, index], message }
  }
}

/**
 * Yields the namespaces that no object can have, by the separators of all upstreams: the setting would silently apply to
 * nothing.
 */
export function* findImpossibleNamespaces(settings: Sections): Generator<SettingProblem> {
  const { limits } = settings
  const delimiters = listCatalogs(settings).map(({ catalog }) => catalog.delimiter)
  const separators = listCommonSeparators(delimiters)
  const named = [
    ...(['rates', 'concurrency'] as const).flatMap((kind) =>
      limits[kind].map(({ namespaces = [] }, index) => ({
        path: ['limits', kind, index, 'namespaces'],
        ids: namespaces,
      })),
    ),
    ...listDelegated(settings).map(({ path, namespace }) => ({
      path: [...path, 'catalogNamespaces'],
      ids: namespace.catalogNamespaces,
    })),
  ]
  for (const { path, ids } of named) {
    for (const [index, names] of ids.entries()) {
      const message = describeImpossible(names, separators)
      if (message !== undefined) yield { path: [...path, index], message }
    }
  }
}

function describeImpossible(names: Identifier, separators: readonly string[]): string | undefined {
  const expected = (): string =>
    formatNameList(names.flatMap((name) => splitNames(name, ['/', ...separators])))
  for (const name of names) {
    const message = describeJoinedName(name, separators, expected)
    if (message !== undefined) return message
  }
  return findErrorMessage(() => assertIdentifier(names))
}

/** Yields the unsafe settings that are not accepted by name. */
export function* findUnsafeSettings({ admin, identity, unsafe }: Sections): Generator<SettingProblem> {
  const refuse = (name: UnsafeName, path: Path, message: string): SettingProblem[] =>
    unsafe.includes(name) ? [] : [{ path, message: `${message}, ${acceptanceHint(name)}` }]
  const { issuers, kubernetes, introspection } = identity
  const sources = [
    ...issuers.map((source, index) => ({ path: ['issuers', index], source })),
    { path: ['kubernetes'], source: kubernetes },
    { path: ['introspection'], source: introspection },
  ]
  for (const { path, source } of sources) {
    if (source === undefined || !/^http:/i.test(source.issuer) || isTrustworthyUrl(source.issuer)) continue
    const message = 'anybody on the network path can impersonate an http issuer; expected an https issuer'
    yield* refuse('plain-http-issuer', ['identity', ...path, 'issuer'], message)
  }
  if (admin.console && !isLoopback(admin.host)) {
    const message =
      'the console shows principals, ids and policies without credentials; expected a loopback admin.host'
    yield* refuse('open-console', ['admin', 'console'], message)
  }
}

export function acceptanceHint(name: UnsafeName): string {
  return `or unsafe: [${name}]`
}

/** Describes dangerous settings, each with its path. */
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
