import { expect, it } from 'vitest'
import { renderInCluster } from './api-server.ts'
import { render, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

/** Renders an upgrade of a release with these objects. */
const upgrade = (present: readonly Manifest[], values: string) =>
  renderInCluster(present, ['--is-upgrade', '--set', values])

it.skipIf(helms.length === 0)(
  'an upgrade that would change volume claim templates is refused with what to do first',
  async () => {
    const present = (await render([])).filter(({ kind }) => kind === 'StatefulSet')
    expect(present.length).toBe(2)
    await upgrade(present, 'persistence.enabled=true,commonLabels.team=data')
    const refusal = await upgrade(
      present,
      'persistence.size=20Gi,catalog.persistence.existingClaim=tables',
    ).then(
      () => '',
      (error: { readonly stderr?: string }) => error.stderr,
    )
    for (const [path, name] of [
      ['persistence', 'release-catalog-gateway'],
      ['catalog.persistence', 'release-catalog-gateway-catalog'],
    ]) {
      expect(refusal).toContain(`\n${path} differs from that of the StatefulSet ${name},`)
      expect(refusal).toContain(`kubectl delete statefulset ${name} --cascade=orphan --namespace default`)
    }
    const orphaned = present.filter(({ metadata }) => metadata.name === 'release-catalog-gateway-catalog')
    await upgrade(orphaned, 'persistence.size=20Gi')
  },
)
