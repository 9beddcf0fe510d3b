import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { respondWith } from '../gateway/support/recording-upstream.ts'
import { useSharedGateway } from '../gateway/support/running-gateway.ts'
import { hasProgram } from '../support/requirements.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readQueries, readRules } from './chart-files.ts'

const canCheck = hasProgram('promtool')
const shared = useSharedGateway({
  tuning: { upstream: { consecutiveFailures: 100 } },
  users: ['nobody'],
})
let metrics = ''

/** After reads, a commit, a denial, a refused credential and a failure. */
beforeAll(async () => {
  const { gateway, upstream } = shared
  const describe = '/v1/table/prod$orders/describe'
  const commit = {
    version: 7,
    manifest_path: 'prod/orders/_versions/7.manifest',
    manifest_size: 4_096,
    e_tag: 'e',
  }
  upstream.handler = respondWith(200, { version: { version: 7 } })
  await gateway.post('/v1/table/prod$orders/version/create', { body: commit })
  for (const as of ['dev', 'nobody', null]) await gateway.post(describe, { as })
  upstream.handler = respondWith(503, '')
  await gateway.post('/v1/table/prod$orders/drop')
  metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
})

it.skipIf(!canCheck)('promtool accepts every metric', async () => {
  const child = spawn('promtool', ['check', 'metrics'])
  const ended = once(child, 'close')
  child.stdin.end(metrics)
  expect(await text(child.stderr)).toBe('')
  expect((await ended)[0]).toBe(0)
})

// A query for a missing metric returns nothing without an error.
it('every metric that the dashboard and the alerts name exists', async () => {
  const rules = await readRules()
  const texts = [...(await readQueries()), ...rules].map(({ expr }) => expr)
  const named = new Set(
    texts.flatMap((expr) => expr.match(/\b(?:catalog_gateway|nodejs|process)[\w:]+/g) ?? []),
  )
  const known = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const recorded = new Set(rules.map(({ record }) => record))
  const missing = [...named].filter(
    (name) =>
      !recorded.has(name) && !known.has(name) && !known.has(name.replace(/_(?:bucket|sum|count)$/, '')),
  )
  expect(missing).toEqual([])
  expect(named.size).toBeGreaterThan(20)
})

it.skipIf(!canCheck)('promtool accepts every query of the dashboard', async () => {
  const file = join(await temporaryFolder(), 'queries.yaml')
  const rules = (await readQueries()).map(({ expr }, index) => ({ record: `query:${index}`, expr }))
  await writeFile(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }))
  expect((await promisify(execFile)('promtool', ['check', 'rules', file])).stdout).toContain('SUCCESS')
})
