import { expect, it } from 'vitest'
import { orders, streamOf } from '../../../src/backend/test/engine/sample-tables.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'

// A change whose body is too large to be buffered, with the real catalog.
const remove = '/v1/table/orders/delete'
const predicate = `"predicate":"id >= 0${' '.repeat(1_500_000)}"`

async function catalogWithRows() {
  const { url, post } = await runningBackend()
  await post('/v1/table/orders/create', streamOf(orders(5)))
  const count = async () => (await post('/v1/table/orders/count_rows', {})).json
  return { gateway: await startGatewayBefore(url()), count }
}

it('with another id at the end changes no row, and is recorded as failed', async () => {
  const { gateway, count } = await catalogWithRows()
  const response = await gateway.post(remove, { body: `{${predicate},"id":["invoices"]}` })
  expectError(response, { kind: 'InvalidInput', says: '"id" is ."invoices". in the body' })
  expect(await count()).toBe(5)
  const records = await recordsOf(gateway.auditFolder)
  const details = { reason: 'conflicting_values' }
  expect(ofKind(records, 'outcome')).toMatchObject([{ result: 'failed', details }])
})

it('is committed if valid, and its intent contains the members before the large one', async () => {
  const { gateway, count } = await catalogWithRows()
  const body = `{"id":["orders"],"branch":null,"identity":{"api_key":"k"},${predicate}}`
  const response = await gateway.post(remove, { body })
  expect([response.status, JSON.parse(String(response.bytes))]).toMatchObject([200, { num_deleted_rows: 5 }])
  expect(await count()).toBe(0)
  const records = await recordsOf(gateway.auditFolder)
  expect(ofKind(records, 'outcome')).toMatchObject([{ result: 'committed', status: 200, version: 2 }])
  expect(JSON.stringify(records)).not.toContain('api_key')
})
