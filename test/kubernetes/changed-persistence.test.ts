import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { installRelease, uidsOf } from './support/release.ts'

it('an upgrade with larger volumes fails, and succeeds after what the chart documents, without a restart', async () => {
  const release = await installRelease(replicas)
  const before = await release.pods('gateway')
  const values = { ...replicas, persistence: { size: '20Gi' } }
  const losses = await underLoad('changed persistence', release, async () => {
    await expect(release.upgrade(values)).rejects.toThrow(
      'or first: kubectl delete statefulset demo-catalog-gateway --cascade=orphan',
    )
    const orphaning = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' }
    await release.namespace.client.delete(release.workload('gateway'), orphaning)
    await release.upgrade(values)
  })
  expect(losses).toEqual(noLosses(losses))
  expect(uidsOf(await release.pods('gateway'))).toEqual(uidsOf(before))
  const { spec } = await release.namespace.client.get(release.workload('gateway'))
  expect(spec).toMatchObject({
    volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '20Gi' } } } }],
  })
})
