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
  const { passed, failed } = await runScenario([...command, readerKey], dev.url, dev.key)
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(15)
}

it('the generated client works unmodified, with its default models', async ({ skip }) => {
  const client = 'lance-namespace-apache-client'
  skip(!inject('installedClients').includes(client), `${client} is not installed`)
  await expectSuccess(client, 'CatalogScenario')
  const changes = await auditedChanges(dev.auditFolder)
  const found = changes.map(({ intent, outcome }) => `${intent.operation} ${outcome?.result}`)
  for (const operation of ['CreateTable', 'InsertIntoTable', 'UpdateTable', 'BatchCommitTables']) {
    expect(found).toContain(`${operation} committed`)
  }
})
