import { setTimeout } from 'node:timers/promises'
import type { StatefulSet } from 'kubernetes-types/apps/v1.js'
import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { installRelease, uidsOf } from './support/release.ts'

it('an upgrade that enables autoscaling keeps all gateways', async () => {
  const values = { ...replicas, replicaCount: 3 }
  const release = await installRelease(values)
  const before = await release.pods('gateway')
  const numbers = new Set<number | undefined>()
  const readNumber = async () => {
    const { spec } = await release.namespace.client.get<StatefulSet>(release.workload('gateway'))
    numbers.add(spec?.replicas)
  }
  const losses = await underLoad('autoscaling enabled', release, async () => {
    const upgrade = release.upgrade({ ...values, autoscaling: { enabled: true, minReplicas: 2 } })
    // The autoscaler looks every 15 seconds.
    for (const end = Date.now() + 20_000; Date.now() < end; await setTimeout(200)) await readNumber()
    await upgrade
  })
  expect(losses).toEqual(noLosses(losses))
  expect([...numbers]).toEqual([3])
  expect(uidsOf(await release.pods('gateway'))).toEqual(uidsOf(before))
})
