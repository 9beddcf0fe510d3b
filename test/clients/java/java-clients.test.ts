import { afterAll, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { startDev } from '../../e2e/running-dev.ts'
import { runScenario } from '../run-scenario.ts'
import type { JavaClient } from './java-libraries.ts'
import { compileScenario } from './java-programs.ts'

const dev = await startDev()
afterAll(() => dev.remove())

/** Runs a scenario with a key that may only read and the key of the developer; expects no failure. */
async function expectSuccess(client: JavaClient, scenario: string): Promise<void> {
  const readerKey = await dev.createKey('reader', '--group', 'analysts')
  const command = await compileScenario(client, scenario)
  const passed = await runScenario([...command, readerKey], dev.url, dev.key)
  expect(passed.length).toBeGreaterThan(9)
}

/** The versions of a table that were committed through the gateway, oldest first. */
async function committedVersions(...id: readonly string[]): Promise<unknown[]> {
  const changes = await auditedChanges(dev.auditFolder, 'CreateTableVersion', id)
  for (const { outcome } of changes) expect(outcome?.result).toBe('committed')
  return changes.map(({ intent }) => intent.details?.['version'])
}

it('the generated client works unmodified, with its default models', async ({ skip }) => {
  const client = 'lance-namespace-apache-client'
  skip(!inject('installedClients').includes(client), `${client} is not installed`)
  await expectSuccess(client, 'CatalogScenario')
  const changes = await auditedChanges(dev.auditFolder)
  const found = changes.map(({ intent, outcome }) => `${intent.operation} ${outcome?.result}`)
  for (const operation of ['CreateTable', 'InsertIntoTable', 'MergeInsertIntoTable', 'BatchCommitTables']) {
    expect(found).toContain(`${operation} committed`)
  }
})

it('lance-core works unmodified, and commits every version through the gateway', async ({ skip }) => {
  skip(!inject('installedClients').includes('lance-core'), 'lance-core is not installed')
  await expectSuccess('lance-core', 'LanceScenario')
  expect(await committedVersions('demo', 'written')).toEqual([1, 2])
})

it('Spark works unmodified; only CREATE TABLE and OPTIMIZE write versions past the gateway', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes('lance-spark'), 'lance-spark is not installed')
  await expectSuccess('lance-spark', 'SparkScenario')
  // 1 by CREATE TABLE; 8 and 9 by OPTIMIZE.
  expect(await committedVersions('demo', 'people')).toEqual([2, 3, 4, 5, 6, 7, 10])
  expect(await committedVersions('demo', 'names')).toEqual([1, 2])
})
