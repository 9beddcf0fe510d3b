import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { countRestarts, installRelease, isReady, until } from './support/release.ts'

it('an autoscaler that adds and removes gateways again and again loses nothing', async () => {
  const autoscaling = { enabled: true, minReplicas: 2, maxReplicas: 4 }
  const release = await installRelease({ ...replicas, autoscaling })
  const { client, name } = release.namespace
  const autoscaler = `/apis/autoscaling/v2/namespaces/${name}/horizontalpodautoscalers/demo-catalog-gateway`
  const scale = async (count: number) => {
    await client.patch(autoscaler, { spec: { minReplicas: count, maxReplicas: count } })
    await until(async () => {
      const pods = await release.pods('gateway')
      return pods.length === count && pods.every(isReady)
    })
  }
  const losses = await underLoad('an autoscaler that flaps', release, async () => {
    for (const count of [4, 2, 3, 2]) await scale(count)
  })
  expect(losses).toEqual(noLosses(losses))
  expect(countRestarts(await release.pods('gateway'))).toBe(0)
})
