import { setTimeout } from 'node:timers/promises'
import type { Pod, Service } from 'kubernetes-types/core/v1.js'
import { expect, it } from 'vitest'
import { noLosses, underLoad } from './support/load.ts'
import { toLoopback } from './support/node/loopback-address.ts'
import { createSecret, installRelease, type Release, until } from './support/release.ts'

const [oldToken, newToken] = ['the-old-access-token', 'the-new-access-token']
const secretName = 'catalog-token'

/** Calls the catalog without a gateway. */
async function createDirectCall({ namespace }: Release) {
  const path = `/api/v1/namespaces/${namespace.name}/services/demo-catalog-gateway-catalog`
  const { spec } = await namespace.client.get<Service>(path)
  const target = `http://${toLoopback(spec?.clusterIP ?? '')}:2335/v1/namespace/$/list`
  return async (token: string) =>
    (await fetch(target, { headers: { authorization: `Bearer ${token}` } })).status
}

async function haveReloaded({ namespace }: Release, pods: readonly Pod[]): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace.name}/pods`
  const logs = pods.map(({ metadata }) => namespace.client.text(`${path}/${metadata?.name}/log`))
  return (await Promise.all(logs)).every((log) => log.includes('file reloaded'))
}

it('a rotation of the access token as the chart documents it loses no request', async () => {
  const token = createSecret(secretName, { token: oldToken })
  const values = {
    replicaCount: 2,
    pageTokens: { existingSecret: 'page-tokens' },
    catalog: { accessToken: { existingSecret: secretName } },
  }
  const release = await installRelease(values, { secrets: [token] })
  const { client, name } = release.namespace
  const call = await createDirectCall(release)
  const replaceTokens = (tokens: object) =>
    client.patch(`/api/v1/namespaces/${name}/secrets/${secretName}`, { data: null, stringData: tokens })
  const losses = await underLoad('a rotation of the access token', release, async () => {
    await replaceTokens({ token: oldToken, 'additional-token': newToken })
    const catalogs = await release.pods('catalog')
    await until(() => haveReloaded(release, catalogs))
    expect(await Promise.all([oldToken, newToken].map(call))).toEqual([200, 200])
    await replaceTokens({ token: newToken, 'additional-token': oldToken })
    await release.restart('gateway')
    await replaceTokens({ token: newToken })
    await until(async () => (await call(oldToken)) === 401)
    await setTimeout(2_000)
  })
  expect(losses).toEqual(noLosses(losses))
  expect(await call(newToken)).toBe(200)
})
