import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

it('docs/observability.md lists every metric, and no other', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const exported = [...metrics.matchAll(/^# HELP (catalog_gateway_\w+) \w/gm)].map(([, name]) => name)
  const listed = [...page.matchAll(/`(catalog_gateway_\w+)`/g)].map(([, name]) => name)
  expect(new Set(listed)).toEqual(new Set(exported))
})
