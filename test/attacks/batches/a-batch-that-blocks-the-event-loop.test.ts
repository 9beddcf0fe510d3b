import { expect, it } from 'vitest'
import type { z } from 'zod'
import { limitsSchema } from '../../../src/config/listen-settings.ts'
import type { BodyBounds } from '../../../src/gateway/bounds.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverything, type GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// Entries are authorized one by one: a request of 4 MB contained over 100,000 of them, and blocked all others for ten
// seconds.
const batchCommit = '/v1/table/batch-commit'
const rules = Array.from({ length: 30 }, (_, index) =>
  ruleFor([], ['all'], {
    subjects: { any: true },
    when: `id.size() == 3 && id[1] == "n${index}" && properties.size() < ${index + 1}`,
  }),
)
const conditional = policyOf(['slow'], rules)

function limited(limits: z.input<typeof limitsSchema>, bodies?: Partial<BodyBounds>): GatewaySetup {
  return {
    tuning: { bodies },
    users: ['mallory'],
    policies: [allowEverything, conditional],
    settings: { limits: limitsSchema.parse(limits) },
  }
}

const declaring = (count: number, path: readonly string[] = []) => ({
  operations: Array.from({ length: count }, () => ({ declare_table: { id: [...path, 't'] } })),
})

it('limits a batch to 1,000 entries', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(limited({}))
  const refused = await gateway.post(batchCommit, { body: declaring(1001) })
  expectError(refused, { kind: 'InvalidInput', status: 413, says: 'has more than 1000 entries' })
  const entry = { id: ['t'], version: 1, manifest_path: 't/_versions/staged' }
  const versions = { entries: Array.from({ length: 1001 }, () => entry) }
  const alsoRefused = await gateway.post('/v1/table/version/batch-create', { body: versions })
  expectError(alsoRefused, { kind: 'InvalidInput', status: 413, says: 'has more than 1000 entries' })
  expect(upstream.requests).toEqual([])
  expect(await gateway.post(batchCommit, { body: declaring(1000) })).toMatchObject({ status: 200 })
})

it('serves other requests while large batches are authorized', async () => {
  const { gateway } = await startGatewayAndUpstream(
    limited({}, { maxBatchEntries: 100_000, maxJsonValues: 1_000_000 }),
  )
  const body = declaring(10_000, ['slow', 'n29'])
  body.operations.push({ declare_table: { id: ['slow', 'other', 't'] } })
  const text = JSON.stringify(body)
  const decided = new AbortController()
  const batches = Promise.all([1, 2, 3].map(() => gateway.post(batchCommit, { as: 'mallory', body: text })))
  void batches.finally(() => decided.abort())
  let served = 0
  for (; !decided.signal.aborted; served += 1)
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
  for (const refused of await batches)
    expectError(refused, { kind: 'PermissionDenied', says: 'not allowed DeclareTable' })
  // A batch that is authorized in one slice lets only a few requests through before it, and none meanwhile; one in slices
  // lets through one or so in each. The batches are large enough for many slices on a fast runtime.
  expect(served).toBeGreaterThan(20)
})

const perSecond = 0.001
const refusedBy = (name: string) => ({ kind: 'Throttling', says: `the limit "${name}"` }) as const

it('counts the entries of a batch as requests', async () => {
  const setup = limited({ rates: [{ name: 'all', per: 'principal', perSecond, burst: 10 }] })
  const { gateway } = await startGatewayAndUpstream(setup)
  expect(await gateway.post(batchCommit, { body: declaring(9) })).toMatchObject({ status: 200 })
  expectError(await gateway.post('/v1/table/t/describe'), refusedBy('all'))
})

it('counts entries by their own upstream and operation', async () => {
  const rates = [
    { name: 'sales', per: 'namespace' as const, namespaces: [['sales']], perSecond, burst: 3 },
    { name: 'declares', per: 'all' as const, operations: ['DeclareTable'], perSecond, burst: 7 },
  ]
  const { gateway, upstream } = await startGatewayAndUpstream(limited({ rates }))
  expect(await gateway.post(batchCommit, { body: declaring(3, ['sales']) })).toMatchObject({ status: 200 })
  expectError(await gateway.post(batchCommit, { body: declaring(1, ['sales']) }), refusedBy('sales'))
  expectError(await gateway.post('/v1/table/sales$t/describe'), refusedBy('sales'))
  expect(await gateway.post(batchCommit, { body: declaring(4, ['other']) })).toMatchObject({ status: 200 })
  expectError(await gateway.post('/v1/table/t/declare', { body: {} }), refusedBy('declares'))
  expect(upstream.requests).toHaveLength(2)
})

it('charges nothing for the entries of a denied batch', async () => {
  const setup = limited({ rates: [{ name: 'all', per: 'all', perSecond, burst: 4 }] })
  const { gateway } = await startGatewayAndUpstream(setup)
  const refused = await gateway.post(batchCommit, { as: 'mallory', body: declaring(100) })
  expectError(refused, { kind: 'PermissionDenied', says: 'not allowed DeclareTable' })
  expect(await gateway.post('/v1/table/t/describe')).toMatchObject({ status: 200 })
})

it('limits the audit records of a batch to one mebibyte', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(limited({}))
  const metadata = Object.fromEntries(
    Array.from({ length: 32 }, (_, index) => [`${'k'.repeat(90)}${index}`, '']),
  )
  const entry = { id: ['t'], version: 1, manifest_path: 't/_versions/staged', metadata }
  const batch = (count: number) => ({ entries: Array.from({ length: count }, () => entry) })
  const target = '/v1/table/version/batch-create'
  const refused = await gateway.post(target, { body: batch(400) })
  expectError(refused, {
    kind: 'InvalidInput',
    status: 413,
    says: 'too large for one audit record; send it in parts',
  })
  expect(upstream.requests).toEqual([])
  expect(await gateway.recorded('intent')).toEqual([])
  expect(await gateway.post(target, { body: batch(200) })).toMatchObject({ status: 200 })
})
