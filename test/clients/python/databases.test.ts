import { expect, inject, it } from 'vitest'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { runScenario } from '../run-scenario.ts'
import { scriptCommand } from './python-scripts.ts'

it('databases of connect_catalog share no table, have their own policies, and are in audit records', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes('lancedb-0.40.0'), 'lancedb-0.40.0 is not installed')
  const gateway = await startGatewayBefore((await runningBackend()).url(), {
    users: ['analyst'],
    policies: [
      allowEverything,
      {
        name: 'sales',
        namespace: ['sales'],
        rules: [{ id: 'read', effect: 'allow', subjects: { users: ['analyst'] }, operations: ['read'] }],
      },
    ],
    adjust: (settings) => ({ ...settings, databases: 'namespaces' }),
  })
  const analystKey = gateway.key('analyst')
  const command = scriptCommand('lancedb-0.40.0', 'lancedb_databases_scenario.py', analystKey)
  const passed = await runScenario(command, gateway.url, gateway.key('dev'))
  expect(passed.length).toBeGreaterThan(40)
  const records = await recordsOf(gateway.auditFolder)
  const changes = ofKind(records, 'intent').map(({ operation, id }) => `${operation} ${id.join('$')}`)
  expect(changes).toEqual(
    expect.arrayContaining([
      'CreateNamespace sales',
      'CreateTable sales$orders',
      'CreateTable lab$orders',
      'InsertIntoTable sales$orders',
      'RenameTable sales$orders',
      'CreateTable sales$eu$items',
      'DropTable lab$orders',
      'DropNamespace lab',
    ]),
  )
  const beyond = changes.filter((change) => !/ (?:sales|lab)(?:\$|$)/.test(change))
  expect(beyond).toEqual([])
  const denied = ofKind(records, 'refusal').map(({ operation, id }) => `${operation} ${id?.join('$')}`)
  expect(denied).toEqual(
    expect.arrayContaining(['CreateTable sales$new', 'DescribeNamespace lab', 'DescribeTable lab$orders']),
  )
})
