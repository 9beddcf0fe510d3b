import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { replaceMetrics } from './metrics-reference.ts'

it('docs/observability.md lists every metric, and no other; npm run reference writes the list', async () => {
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  expect(page).toContain('`catalog_gateway_requests_total`')
  expect(await replaceMetrics(page)).toBe(page)
})

it('every metric that the page names exists', async () => {
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const [, list = ''] = /<!-- metrics: .*? -->(.*?)<!-- end -->/s.exec(page) ?? []
  const named = page.replaceAll(/`catalog_gateway_\w+`/g, (name) => (list.includes(name) ? '' : name))
  expect(named.match(/`catalog_gateway_\w+`/g)).toBeNull()
})
