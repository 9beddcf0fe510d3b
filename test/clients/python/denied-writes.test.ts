import { expect, inject, it } from 'vitest'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { readAuditLog } from '../../../src/audit/storage/read-audit-log.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { runScenario } from '../run-scenario.ts'
import type { PythonEnvironment } from './python-environments.ts'
import { scriptCommand } from './python-scripts.ts'

it.for<[PythonEnvironment, script: string, denied: readonly string[]]>([
  ['lancedb-0.40.0', 'lancedb_denied_scenario.py', ['InsertIntoTable']],
  ['lance-14.0.2', 'lance_denied_scenario.py', ['CreateTableVersion', 'InsertIntoTable']],
  ['lance-7.1.0', 'lance_denied_scenario.py', ['CreateTableVersion', 'InsertIntoTable']],
  ['lance-4.0.2', 'lance_denied_scenario.py', ['CreateTableVersion']],
])('%s reports a denied write within 10 seconds', async ([environment, script, denied], { skip }) => {
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const gateway = await startGatewayBefore((await runningBackend()).url(), {
    users: ['reader'],
    policies: [
      {
        ...allowEverything,
        rules: [
          { id: 'all', effect: 'allow', subjects: { users: ['dev', 'reader'] }, operations: ['all'] },
          {
            id: 'no-writes',
            effect: 'deny',
            subjects: { users: ['reader'] },
            operations: ['commit', 'write'],
          },
        ],
      },
    ],
    adjust: (settings) => ({ ...settings, dialects: ['lance'] }),
  })
  const command = scriptCommand(environment, script, gateway.key('dev'))
  const passed = await runScenario(command, gateway.url, gateway.key('reader'))
  expect(passed.length).toBeGreaterThan(3)
  const refused = new Set<unknown>()
  for await (const record of readAuditLog(gateway.auditFolder)) {
    if (record.kind === 'refusal' && record.status === 403) refused.add(record.operation)
  }
  expect(refused).toEqual(new Set(denied))
})
