import { expect, inject, it, onTestFinished } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { startDev } from '../../e2e/running-dev.ts'
import type { PythonEnvironment } from './python-environments.ts'
import { scriptCommand } from './python-scripts.ts'
import { runScenario } from '../run-scenario.ts'

type Case = [PythonEnvironment, script: string, change: string, id: readonly string[]]

async function runOnDev(environment: PythonEnvironment, script: string) {
  const dev = await startDev()
  onTestFinished(() => dev.remove())
  const passed = await runScenario(scriptCommand(environment, script), dev.url, dev.key)
  return {
    passed,
    changesOf: (change: string, id: readonly string[]) => auditedChanges(dev.auditFolder, change, id),
  }
}

it.for<Case>([
  ['lancedb-0.40.0', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lancedb-0.40.0', 'lancedb_async_scenario.py', 'InsertIntoTable', ['people_async']],
  ['lancedb-0.40.0', 'lancedb_methods_scenario.py', 'UpdateFieldMetadata', ['things']],
  ['lancedb-0.27.1', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lancedb-0.18.0', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lancedb-0.16.0', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lancedb-0.14.0', 'lancedb_scenario.py', 'InsertIntoTable', ['people']],
  ['lance-14.0.2', 'lance_scenario.py', 'CreateTableVersion', ['lake', 'written']],
  ['lance-14.0.2', 'catalog_client_scenario.py', 'CreateTable', ['all', 'people']],
  ['lance-7.1.0', 'lance_scenario.py', 'CreateTableVersion', ['lake', 'written']],
  ['lance-4.0.2', 'lance_scenario.py', 'CreateTableVersion', ['lake', 'written']],
  // It commits to the storage; the catalog only sees that the table is declared.
  ['lance-2.0.1', 'lance_scenario.py', 'DeclareTable', ['lake', 'written']],
])('%s works unmodified: %s', async ([environment, script, change, id], { skip }) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const { passed, changesOf } = await runOnDev(environment, script)
  expect(passed.length).toBeGreaterThan(8)
  const changes = await changesOf(change, id)
  expect(changes.length).toBeGreaterThan(0)
  for (const { outcome } of changes) expect(outcome?.result).toBe('committed')
})

it('no commit of four processes with pylance is lost', async ({ skip }) => {
  skip(!inject('installedClients').includes('lance-14.0.2'), 'lance-14.0.2 is not installed')
  const { changesOf } = await runOnDev('lance-14.0.2', 'lance_writers_scenario.py')
  const commits = await changesOf('CreateTableVersion', ['shared', 'numbers'])
  const versionsOf = (result: string) =>
    commits.flatMap(({ outcome }) => (outcome?.result === result ? [Number(outcome.version)] : []))
  const committed = versionsOf('committed').toSorted((a, b) => a - b)
  expect(committed).toEqual(Array.from({ length: 25 }, (_, index) => index + 1))
  // The client retries conflicts.
  const conflicts = versionsOf('rejected').length
  expect(conflicts).toBeGreaterThan(0)
  expect(commits).toHaveLength(committed.length + conflicts)
})
