import { expect, it } from 'vitest'
import { helms } from '../helm/helm-programs.ts'
import { noLosses, underLoad } from './support/load.ts'
import { replicas } from './support/replicas-values.ts'
import { countRestarts, installRelease, isReady, killContainer, uidsOf, until } from './support/release.ts'

const policy = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: readers }
namespace: [prod]
rules: [{ id: read, effect: alow, subjects: { any: true }, operations: [read] }]
`

it('a misspelt word in a policy fails the upgrade, and the old pods serve, restarted or not', async () => {
  const release = await installRelease(replicas)
  const before = await release.pods('gateway')
  const losses = await underLoad('a bad policy in an upgrade', release, async () => {
    const upgrade = release.upgrade({ ...replicas, policies: { inline: { 'readers.yaml': policy } } })
    await expect(upgrade).rejects.toThrow(/readers\.yaml:5:\d+: .*alow/)
  })
  expect(losses).toEqual(noLosses(losses))
  expect(uidsOf(await release.pods('gateway'))).toEqual(uidsOf(before))
  for (const pod of before) await killContainer(pod, 'gateway')
  await until(async () => {
    const pods = await release.pods('gateway')
    return countRestarts(pods) === before.length && pods.every(isReady)
  })
  await release.untilServing()
})

it.runIf(helms.length > 1)('helm 3 fails the upgrade as well, and the log of the hook says why', async () => {
  const [program] = helms
  const release = await installRelease({}, { program: program ?? 'helm' })
  const upgrade = release.upgrade(
    { policies: { inline: { 'readers.yaml': policy } } },
    { program: program ?? 'helm' },
  )
  await expect(upgrade).rejects.toThrow('pre-upgrade hooks failed')
  const { client, name } = release.namespace
  const path = `/api/v1/namespaces/${name}/pods`
  const { items } = await client.get<{ items: readonly { metadata: { name: string } }[] }>(
    `${path}?labelSelector=job-name=demo-catalog-gateway-check`,
  )
  expect(await client.text(`${path}/${items[0]?.metadata.name ?? ''}/log`)).toMatch(
    /readers\.yaml:5:\d+: .*alow/,
  )
})
