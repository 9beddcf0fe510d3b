import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startApiServer } from './api-server.ts'
import { render } from './chart.ts'
import { helms } from './helm-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const name = 'release-catalog-gateway'
const autoscaling = [
  '--set',
  'autoscaling.enabled=true,autoscaling.minReplicas=2,pageTokens.existingSecret=page-tokens',
]

async function replicasAfterUpgrade(present: number): Promise<number | undefined> {
  const kubeconfig = join(await temporaryFolder(), 'kubeconfig')
  const existing = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: { replicas: present },
  }
  const server = await startApiServer([existing], kubeconfig)
  onTestFinished(() => server.close())
  const cluster = [
    '--dry-run=server',
    '--is-upgrade',
    '--disable-openapi-validation',
    '--kubeconfig',
    kubeconfig,
  ]
  return replicasIn(await render([...autoscaling, ...cluster]))
}

function replicasIn(manifests: Awaited<ReturnType<typeof render>>): number | undefined {
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
