import { expect, it } from 'vitest'
import { renderInCluster } from './api-server.ts'
import { render, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

const name = 'release-catalog-gateway'
const autoscaling = [
  '--set',
  'autoscaling.enabled=true,autoscaling.minReplicas=2,pageTokens.existingSecret=page-tokens',
]

async function replicasAfterUpgrade(replicas: number): Promise<number | undefined> {
  const present = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name }, spec: { replicas } }
  return replicasIn(await renderInCluster([present], ['--is-upgrade', ...autoscaling]))
}

function replicasIn(manifests: readonly Manifest[]): number | undefined {
  const gateway = manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === name)
  return (gateway?.spec as { readonly replicas?: number } | undefined)?.replicas
}

it.skipIf(helms.length === 0)(
  'an upgrade keeps the number of gateways that autoscaling has chosen',
  async () => {
    expect(await replicasAfterUpgrade(5)).toBe(5)
    expect(await replicasAfterUpgrade(1)).toBe(2)
    expect(replicasIn(await render(autoscaling))).toBeUndefined()
  },
)
