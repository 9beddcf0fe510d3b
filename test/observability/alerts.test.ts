import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { operations } from '../../src/catalog-api/operations.ts'
import { chartFile, readRules } from './chart-files.ts'
import { hasProgram } from '../support/requirements.ts'

const run = promisify(execFile)
const canRun = hasProgram('promtool')
const tests = ['alerts.test.yaml', 'alerts-of-a-day.test.yaml'].map((name) =>
  fileURLToPath(new URL(name, import.meta.url)),
)
const alerts = (await readRules()).filter(({ alert }) => alert !== undefined)

it.skipIf(!canRun)('the rules are valid', async () => {
  const { stdout } = await run('promtool', [
    'check',
    'rules',
    '--lint=all',
    '--lint-fatal',
    chartFile('alerts.yaml'),
  ])
  expect(stdout).toContain('SUCCESS')
})

it.skipIf(!canRun)(
  'alerts fire when they should, and are quiet when they should',
  async () => {
    const { stdout } = await run('promtool', ['test', 'rules', ...tests])
    expect(stdout.match(/SUCCESS/g)).toHaveLength(tests.length)
  },
  120_000,
)

it('every alert has a test in which it fires', async () => {
  const texts = await Promise.all(tests.map((file) => readFile(file, 'utf8')))
  const expected = texts.flatMap((text) => {
    const { tests } = parse(text) as {
      tests: { promql_expr_test: { exp_samples: { labels: string }[] }[] }[]
    }
    return tests.flatMap(({ promql_expr_test: polls }) =>
      polls.flatMap(({ exp_samples }) =>
        exp_samples.map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]),
      ),
    )
  })
  expect(new Set(expected)).toEqual(new Set(alerts.map(({ alert }) => alert)))
})

it('every alert says how bad it is, what it is, and what to do', async () => {
  const runbook = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  for (const { alert = '', labels, annotations } of alerts) {
    expect(labels?.['severity'], alert).toMatch(/^(critical|warning|none)$/)
    expect(annotations, alert).toEqual({
      summary: expect.stringMatching(/\w/),
      description: expect.stringMatching(/\w/),
      runbook: `docs/observability.md#${alert.toLowerCase()}`,
    })
    expect(runbook, alert).toContain(`\n### ${alert}\n`)
  }
  const explained = [...runbook.matchAll(/^### (CatalogGateway\w+)$/gm)].map(([, name]) => name)
  expect(explained).toEqual(alerts.map(({ alert }) => alert))
})

it('the latency alert covers the operations that transfer no data', () => {
  const expr = alerts.find(({ alert }) => alert === 'CatalogGatewayLatencyHigh')?.expr ?? ''
  const named = /operation=~"([^"]+)"/.exec(expr)?.[1]?.split('|')
  const light = Object.entries(operations).filter(([, { group }]) => group === 'browse' || group === 'commit')
  expect(new Set(named)).toEqual(new Set(light.map(([name]) => name)))
})
