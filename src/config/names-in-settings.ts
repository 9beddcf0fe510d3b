import { describeJoinedName, formatNameList, splitNames } from '../catalog-api/identifier-text.ts'
import { assertIdentifier } from '../catalog-api/identifiers.ts'
import { toError } from '../lib/errors/to-error.ts'
import type { CallerLimitSettings } from './caller-limit-settings.ts'
import type { MetricsSettings } from './metrics-settings.ts'
import type { PolicyKubernetesSettings } from './policy-kubernetes-settings.ts'

interface SettingsOfNamespaces {
  readonly limits: Pick<CallerLimitSettings, 'rates' | 'byteQuotas' | 'concurrency'>
  readonly metrics?: MetricsSettings | undefined
  readonly policies: { readonly kubernetes?: PolicyKubernetesSettings | undefined }
}

interface SettingsProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/**
 * Returns the namespaces that no object can have, by the separators of all upstreams: the setting would silently apply to
 * nothing.
 */
export function findImpossibleNamespaces(
  settings: SettingsOfNamespaces,
  separators: readonly string[],
): readonly SettingsProblem[] {
  return listNamespaces(settings).flatMap(({ path, names }) => {
    const message = describeImpossible(names, separators)
    return message === undefined ? [] : [{ path, message }]
  })
}

interface NamespaceInSettings {
  readonly path: readonly (string | number)[]
  readonly names: readonly string[]
}

function listNamespaces({ limits, metrics, policies }: SettingsOfNamespaces): readonly NamespaceInSettings[] {
  return [
    ...(['rates', 'byteQuotas', 'concurrency'] as const).flatMap((kind) =>
      limits[kind].flatMap(({ namespaces }, index) =>
        locate(['limits', kind, index, 'namespaces'], namespaces),
      ),
    ),
    ...locate(
      ['metrics', 'namespaces'],
      metrics?.namespaces?.map((name) => [name]),
    ),
    ...(policies.kubernetes?.namespaces ?? []).flatMap((namespace, index) =>
      locate(
        ['policies', 'kubernetes', 'namespaces', index, 'catalogNamespaces'],
        namespace.platform ? [] : namespace.catalogNamespaces,
      ),
    ),
  ]
}

function locate(
  path: readonly (string | number)[],
  namespaces: readonly (readonly string[])[] = [],
): readonly NamespaceInSettings[] {
  return namespaces.map((names, index) => ({ path: [...path, index], names }))
}

function describeImpossible(names: readonly string[], separators: readonly string[]): string | undefined {
  const expected = (): string =>
    formatNameList(names.flatMap((name) => splitNames(name, ['/', ...separators])))
  for (const name of names) {
    const message = describeJoinedName(name, separators, expected)
    if (message !== undefined) return message
  }
  try {
    assertIdentifier(names)
    return undefined
  } catch (error) {
    return toError(error).message
  }
}
