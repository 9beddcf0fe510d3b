import { helms } from './helm-programs.ts'
import { render, valuesFile, valuesNames, type Manifest } from './chart.ts'

/** What the newest helm makes of each file in `ci/`, by the name of the values; nothing without helm. */
export const renderedValues: ReadonlyMap<string, readonly Manifest[]> = new Map(
  await Promise.all(
    (helms.length === 0 ? [] : valuesNames).map(
      async (name) => [name, await render(['--values', valuesFile(name)])] as const,
    ),
  ),
)

export function manifestsOf(name: string): readonly Manifest[] {
  const manifests = renderedValues.get(name)
  if (manifests === undefined) throw new Error(`there is no helm that renders ${name}`)
  return manifests
}
