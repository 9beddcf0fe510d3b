import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, inject, it, onTestFinished } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { runConformance } from '../../conformance/conformance.ts'
import { temporaryFolder } from '../../e2e/built-program.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { scriptCommand } from './python-scripts.ts'
import { runScenario } from '../run-scenario.ts'

const environment = 'lance-14.0.2'

/** Starts the REST adapter of pylance, a catalog by others, on a new folder. Returns its URL. */
async function startRestAdapter(): Promise<string> {
  const [python, script] = scriptCommand(environment, 'rest_adapter.py')
  const adapter = spawn(python, [script, await temporaryFolder()], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(async () => {
    adapter.stdin.end()
    if (adapter.exitCode === null) await once(adapter, 'exit')
  })
  for await (const line of createInterface(adapter.stdout)) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('the REST adapter did not start')
}

it('creates, writes, streams, commits and reads through a gateway in front of the REST adapter', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const url = await startRestAdapter()
  const { healthCheck } = upstreamSchema.parse({ url })
  const gateway = await startGatewayBefore(
    url,
    withUpstream(() => ({ healthCheck })),
  )
  const { passed, failed } = await runScenario(
    scriptCommand(environment, 'lance_scenario.py'),
    gateway.url,
    gateway.key('dev'),
  )
  expect(failed).toEqual([])
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
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const outcomes = await runConformance({ url: await startRestAdapter(), credentials: {} })
  const results = new Map(outcomes.map(({ operation, title, result }) => [`${operation}: ${title}`, result]))
  expect(new Set(outcomes.map(({ operation }) => operation)).size).toBe(operationNames.length)
  expect(results.get('RenameTable: rejects a missing object with 404')).toBe('missing')
  expect(results.get('CreateNamespace: every response has the form of the interface')).toBe('failed')
})
