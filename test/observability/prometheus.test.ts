import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../gateway/support/recording-upstream.ts'
import { chartFile, readQueries, readRules } from './chart-files.ts'
import { hasProgram } from '../support/requirements.ts'
import { freePort } from '../support/free-port.ts'
import { eventually } from '../support/eventually.ts'

const canScrape = hasProgram('prometheus')
const canCheck = hasProgram('promtool')
let upstream: RecordingUpstream
let gateway: TestedGateway

beforeAll(async () => {
  upstream = await startRecordingUpstream()
  gateway = await openGateway(upstream.url, {
    tuning: { upstream: { consecutiveFailures: 100 } },
    users: ['nobody'],
  })
})

afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

const version = {
  version: 7,
  manifest_path: 'prod/orders/_versions/7.manifest',
  manifest_size: 4_096,
  e_tag: 'e',
}

/** Generates traffic for the whole dashboard: reads, commits, denials, refused credentials, failures. */
async function makeTraffic(): Promise<void> {
  upstream.answering = respondWith(200, { version: { version: 7 } })
  await gateway.post('/v1/table/prod$orders/describe')
  await gateway.post('/v1/table/prod$orders/version/create', { body: version })
  await gateway.post('/v1/table/prod$orders/describe', { as: 'nobody' })
  await gateway.post('/v1/table/prod$orders/describe', { as: null })
  upstream.answering = respondWith(503, '')
  await gateway.post('/v1/table/prod$orders/drop')
}

it.skipIf(!canCheck)('promtool accepts every metric', async () => {
  await makeTraffic()
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const child = spawn('promtool', ['check', 'metrics'])
  const ended = once(child, 'close')
  child.stdin.end(metrics)
  expect(await text(child.stderr)).toBe('')
  expect((await ended)[0]).toBe(0)
})

/** Panels that may be empty: their events are rare, or not set up here. */
const mayBeEmpty = new Set([
  'Decisions that shadow policies would change',
  'Age of the JWKS of issuers',
  'Time to certificate or key expiry',
  'Audit log',
  'Policies loaded',
])

it.skipIf(!canScrape)(
  'Prometheus scrapes a gateway, and answers every query of dashboard and alerts',
  async () => {
    const prometheus = await startPrometheus(gateway.adminUrl)
    try {
      await eventually(async () => {
        await makeTraffic()
        const [denied] = await prometheus.query(
          'rate(catalog_gateway_requests_total{decision="deny"}[5s]) > 0',
        )
        expect(denied?.metric).toMatchObject({ operation: 'DescribeTable', job: 'catalog-gateway' })
      })
      await eventually(async () => {
        const { alerts } = await prometheus.get<{ alerts: { labels: { alertname: string } }[] }>('alerts')
        expect(alerts).toContainEqual(
          expect.objectContaining({
            state: 'firing',
            labels: expect.objectContaining({ alertname: 'CatalogGatewayWatchdog' }),
          }),
        )
      })
      for (const { title, expr } of await readQueries()) {
        let found = await prometheus.query(expr)
        if (mayBeEmpty.has(title)) continue
        // The rates cover few seconds, so that earlier traffic may be too old.
        await eventually(async () => {
          if (found.length === 0) {
            await makeTraffic()
            found = await prometheus.query(expr)
          }
          expect(found, `${title}: ${expr}`).not.toEqual([])
        })
      }
      for (const { expr } of await readRules()) await prometheus.query(expr)
      await everyNameExists(prometheus)
      const { groups } = await prometheus.get<{
        groups: { rules: { lastError?: string; health: string }[] }[]
      }>('rules')
      const rules = groups.flatMap(({ rules }) => rules)
      expect(rules.filter(({ lastError }) => lastError)).toEqual([])
      expect(rules).toHaveLength((await readRules()).length)
    } finally {
      await prometheus.close()
    }
  },
)

/** A query for a missing metric returns nothing without an error, so every name must exist. */
async function everyNameExists(prometheus: RunningPrometheus): Promise<void> {
  const recorded = new Set((await readRules()).map(({ record }) => record))
  const reported = new Set(Object.keys(await prometheus.get<Record<string, unknown>>('metadata')))
  const texts = [...(await readQueries()), ...(await readRules())].map(({ expr }) => expr)
  const named = new Set(
    texts.flatMap((expr) => expr.match(/\b(?:catalog_gateway|nodejs|process)[\w:]+/g) ?? []),
  )
  const missing = [...named].filter((name) => {
    const family = name.replace(/_(?:bucket|sum|count|total)$/, '')
    return !recorded.has(name) && !reported.has(name) && !reported.has(family)
  })
  expect(missing).toEqual([])
}

interface Found {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** A Prometheus that scrapes one gateway, with the alerts of the chart. */
interface RunningPrometheus {
  /** Calls its API; throws with its error message. */
  get<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>
  query(expr: string): Promise<readonly Found[]>
  close(): Promise<void>
}

/** Starts Prometheus on a free port; resolves when it has scraped that admin port. */
async function startPrometheus(adminUrl: string): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'))
  const file = join(folder, 'prometheus.yml')
  await writeFile(file, await settingsFor(new URL(adminUrl).host))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  const prometheus: RunningPrometheus = {
    async get<Data>(path: string, parameters: Readonly<Record<string, string>> = {}) {
      const url = `http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`
      const { body } = await request(url)
      const { data, error } = (await body.json()) as { data: Data; error?: string }
      if (error !== undefined) throw new Error(`${path} ${JSON.stringify(parameters)}: ${error}`)
      return data
    },
    query: async (query) => (await prometheus.get<{ result: Found[] }>('query', { query })).result,
    async close() {
      child.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error('Prometheus did not start')
      const [up] = await prometheus.query('up == 1')
      if (up === undefined) throw new Error('nothing has been scraped yet')
    })
  } catch (error) {
    await prometheus.close()
    throw error
  }
  return prometheus
}

/** The configuration of docs/observability.md, with that target, the path of the rules and shorter intervals. */
async function settingsFor(target: string): Promise<string> {
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const [, shown = ''] = /```yaml prometheus\n(.*?)```/s.exec(page) ?? []
  return shown
    .replace('127.0.0.1:2334', target)
    .replace('alerts.yaml', chartFile('alerts.yaml'))
    .replaceAll(': 5s', ': 500ms')
}
