import { describe, expect, it } from 'vitest'
import { orders, streamOf } from '../../../src/backend/test/engine/sample-tables.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// The id of a transaction is that of its table and one part more, so it looks like an object beneath the table.
const policies = [
  policyOf(
    ['prod', 'sales'],
    [
      ruleFor(['al']),
      ruleFor(['al'], ['all'], { effect: 'deny', tables: ['secret'] }),
      ruleFor(['reviewer'], ['all'], { when: 'branch != "main"' }),
    ],
    { onDeny: 404 },
  ),
]
const setup = { users: ['al', 'reviewer'], policies }
const alter = { actions: [{ setPropertyAction: { key: 'k', value: 'forged' } }] }

describe('in front of any catalog', () => {
  const attacked = attackedGateway(setup)

  it.each([
    ['prod$sales$secret$1/describe', {}],
    ['prod$sales$secret$1/alter', alter],
    ['prod%24sales%24secret%241/alter', alter],
    ['prod.sales.secret.1/describe?delimiter=.', {}],
  ])('%s is refused like a missing transaction', async (target, body) => {
    await attacked.expectRefused(
      { as: 'al', target: `/v1/transaction/${target}`, body },
      { kind: 'TransactionNotFound', says: /^there is no transaction "1" of a table "prod.sales.secret"$/ },
    )
  })

  it.each(['describe', 'alter'])('%s may concern any branch', async (verb) => {
    await attacked.expectRefused(
      {
        as: 'reviewer',
        target: `/v1/transaction/prod$sales$orders$1/${verb}`,
        body: verb === 'alter' ? alter : {},
      },
      { kind: 'TransactionNotFound', says: 'no transaction "1"' },
    )
  })

  it('a transaction without a table is refused, whatever the permissions', async () => {
    await attacked.expectInvalid(
      { as: 'dev', target: '/v1/transaction/1/describe', body: {} },
      'the id of a table followed by a transaction; "1" names no table',
    )
  })

  it('transactions of other tables are forwarded', async () => {
    const target = '/v1/transaction/prod$sales$orders$1/describe'
    await attacked.expectForwarded({ as: 'al', target, body: {} })
    // A table named like the denied one, in another namespace.
    await attacked.expectForwarded({ as: 'al', target: '/v1/transaction/prod$sales$inner$secret$1/describe' })
  })
})

it('the bundled catalog shows nothing of a denied table', async () => {
  const backend = await runningBackend()
  const gateway = await startGatewayBefore(backend.url(), {
    ...setup,
    policies: [allowEverything, ...policies],
  })
  for (const namespace of ['prod', 'prod$sales'])
    await gateway.post(`/v1/namespace/${namespace}/create`, { body: {} })
  for (const name of ['secret', 'orders']) {
    const created = await gateway.post(`/v1/table/prod$sales$${name}/create`, {
      body: Buffer.from(streamOf(orders(2))),
      headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
    })
    expect(created.status).toBe(200)
  }
  const describeAs = async (as: string, id: string) => {
    const { status, json } = await gateway.post(`/v1/transaction/${id}/describe`, { as, body: {} })
    return { status, json: { ...(json as object), instance: '' } }
  }
  expect(await describeAs('al', 'prod$sales$orders$1')).toMatchObject({ status: 200 })
  expect(await describeAs('dev', 'prod$sales$secret$1')).toMatchObject({ status: 200 })
  const denied = await describeAs('al', 'prod$sales$secret$1')
  const missing = await describeAs('dev', 'prod$sales$secret$99')
  expect(denied.status).toBe(404)
  expect(JSON.stringify(denied)).toBe(JSON.stringify(missing).replaceAll('99', '1'))
})
