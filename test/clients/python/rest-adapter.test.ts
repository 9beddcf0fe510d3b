import { expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { runConformance } from '../../conformance/conformance.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { scriptCommand } from './python-scripts.ts'
import { adapterEnvironment, startRestAdapter } from './rest-adapter.ts'
import { runScenario } from '../run-scenario.ts'

it('creates, writes, streams, commits and reads through a gateway in front of the REST adapter', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const { url } = await startRestAdapter()
  const gateway = await startGatewayBefore(url)
  const passed = await runScenario(
    scriptCommand(adapterEnvironment, 'lance_scenario.py'),
    gateway.url,
    gateway.key('dev'),
  )
  expect(passed.length).toBeGreaterThan(10)

  const changes = await auditedChanges(gateway.auditFolder)
  expect(changes.map(({ outcome }) => outcome?.result)).toEqual(changes.map(() => 'committed'))
  const found = changes.map(({ intent }) => `${intent.operation} ${intent.id.join('.')}`)
  for (const expected of [
    'CreateNamespace lake',
    'DeclareTable lake.written',
    'CreateTableVersion lake.written',
    'CreateTable lake.streamed',
    'InsertIntoTable lake.streamed',
  ]) {
    expect(found).toContain(expected)
  }
})

it('the conformance suite finishes on the REST adapter, and tells what it lacks', async ({ skip }) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const { url } = await startRestAdapter()
  const outcomes = await runConformance({ url, credentials: {} })
  const results = new Map(outcomes.map(({ operation, title, result }) => [`${operation}: ${title}`, result]))
  expect(new Set(outcomes.map(({ operation }) => operation)).size).toBe(operationNames.length)
  expect(results.get('RenameTable: rejects a missing object with 404')).toBe('missing')
  expect(results.get('CreateNamespace: every response has the form of the interface')).toBe('failed')
})
