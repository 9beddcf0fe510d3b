import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

/** The rows of the table of metrics: name, type and help text. */
function rowsOf(metrics: string): string[][] {
  const types = new Map([...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
  return [...metrics.matchAll(/^# HELP (catalog_gateway_\S+) (.*)$/gm)]
    .map(([, name = '', help = '']) => [`\`${name}\``, types.get(name) ?? '', help])
    .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))
}

it('docs/observability.md lists every metric with its type and help text', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| (`catalog_gateway_.*) \|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim()),
  )
  expect(listed).toEqual(rowsOf(metrics))
})
