import { expect, it } from 'vitest'
import { runCommand } from '../../support/run-command.ts'
import { createResource, grant } from '../../policy/source/kubernetes/reviewed-resources.ts'
import { fakeCluster } from './fake-cluster.ts'

it('of two rules that allow the same, that of the first name decides, as in a gateway', async () => {
  const cluster = await fakeCluster(
    createResource('zeta', grant, { creationTimestamp: '2026-01-01T00:00:00Z' }),
    createResource('alpha', grant, { creationTimestamp: '2026-02-01T00:00:00Z' }),
  )
  const question = ['--group', 'sales', 'DescribeTable', 'prod/sales/orders']
  const { status, output } = await runCommand(['policy', 'explain', ...cluster, ...question])
  expect(output).toContain('\n  by team-a/alpha/reads ')
  expect(status).toBe(0)
})
