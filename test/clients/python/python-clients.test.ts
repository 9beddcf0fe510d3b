import { afterAll, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { startDev } from '../../e2e/running-dev.ts'
import type { PythonEnvironment } from './python-environments.ts'
import { scriptCommand } from './python-scripts.ts'
import { runScenario } from '../run-scenario.ts'

const dev = await startDev()
afterAll(() => dev.remove())

it.for<[PythonEnvironment, script: string, change: string, id: readonly string[]]>([
  ['lancedb-0.40.0', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lancedb-0.40.0', 'lancedb_async_scenario.py', 'InsertIntoTable', ['people_async']],
  ['lancedb-0.27.1', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lance-14.0.2', 'lance_scenario.py', 'CreateTableVersion', ['lake', 'written']],
])('%s works unmodified: %s', async ([environment, script, change, id], { skip }) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const before = await auditedChanges(dev.auditFolder, change, id)
  const { passed, failed } = await runScenario(scriptCommand(environment, script), dev.url, dev.key)
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(10)
  const changes = (await auditedChanges(dev.auditFolder, change, id)).slice(before.length)
  expect(changes.length).toBeGreaterThan(0)
  for (const { outcome } of changes) expect(outcome?.result).toBe('committed')
})
