import { readFile } from 'node:fs/promises'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createWorkerMetrics } from '../../src/workers/worker-metrics.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

/** Formats every metric of the gateway as a table row with its own help text. */
function rowsOf(metrics: string): string[][] {
  const types = new Map([...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
  return [...metrics.matchAll(/^# HELP (catalog_gateway_\S+) (.*)$/gm)]
    .map(([, name = '', help = '']) => [`\`${name}\``, types.get(name) ?? '', help])
    .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))
}

it('the README lists every metric of a gateway with its help text', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const registry = new Registry()
  createWorkerMetrics(registry, () => 0)
  const ofGateway = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const metrics = `${ofGateway}\n${await registry.metrics()}`
  const readme = await readFile(new URL('../../src/observability/README.md', import.meta.url), 'utf8')
  const listed = [...readme.matchAll(/^\| (`catalog_gateway_.*) \|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim()),
  )
  expect(listed).toEqual(rowsOf(metrics))
})
