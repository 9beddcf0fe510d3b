import { connect } from '@lancedb/lancedb'
import { expect, inject, it } from 'vitest'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { allowEverything, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { scriptCommand } from './python/python-scripts.ts'
import { runScenario } from './run-scenario.ts'

/** A gateway that leaves `analyst` two columns and two rows of the table `people`. */
async function startRestricted(): Promise<TestedGateway> {
  const gateway = await startGatewayBefore((await runningBackend()).url(), {
    users: ['analyst'],
    policies: [
      {
        ...allowEverything,
        restrict: [
          {
            id: 'part',
            subjects: { users: ['analyst'] },
            tables: ['people'],
            columns: { id: 'number', vector: 'other' },
            rows: "region = 'EU'",
          },
        ],
        rules: [
          { id: 'owner', effect: 'allow', subjects: { users: ['dev'] }, operations: ['all'] },
          { id: 'analyst', effect: 'allow', subjects: { users: ['analyst'] }, operations: ['read', 'write'] },
        ],
      },
    ],
    adjust: (settings) => ({ ...settings, dialects: ['lance'] }),
  })
  const catalog = await connect('db://any', { apiKey: gateway.key('dev'), hostOverride: gateway.url })
  await catalog.createTable('people', [
    { id: 1, region: 'EU', ssn: 'a', vector: [1, 0] },
    { id: 2, region: 'EU', ssn: 'b', vector: [0, 1] },
    { id: 3, region: 'US', ssn: 'c', vector: [1, 0.1] },
  ])
  return gateway
}

it.for(['lancedb-0.40.0', 'lancedb-0.27.1'] as const)(
  '%s reads the part that is left to its caller',
  async (environment, { skip }) => {
    skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
    const gateway = await startRestricted()
    const command = scriptCommand(environment, 'lancedb_restricted_scenario.py')
    const passed = await runScenario(command, gateway.url, gateway.key('analyst'))
    expect(passed).toHaveLength(11)
  },
)
