import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { expectError } from '../support/expect-error.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

/** `ann` and `bea` administer `team`; `root` may act on every job. */
const policies = [
  policyOf(
    ['team'],
    [
      ruleFor(['ann'], ['admin', 'drop'], {
        when: 'branch in ["", "main", "dev"] || operation.startsWith("Drop") || operation.startsWith("Refresh")',
      }),
      ruleFor(['bea'], ['admin', 'read']),
    ],
    { onDeny: 404 },
  ),
  policyOf([], [ruleFor(['root'], ['admin', 'browse'])], { name: 'jobs', onDeny: 404 }),
]
const setup = { users: ['ann', 'bea', 'root'], policies }
const shared = useSharedGateway(setup)
const backfill = '/v1/table/team$t/backfill_column'

async function startJob({ gateway, upstream }: typeof shared = shared, as = 'ann'): Promise<string> {
  upstream.handler = respondWith(202, { job_id: 'job-7' })
  const response = await gateway.post(backfill, { as, body: { column: 'c' } })
  expect(response.status).toBe(202)
  upstream.requests.length = 0
  upstream.handler = respondWith(200, { job_state: 'DONE' })
  return (response.json as { job_id: string }).job_id
}

it.each(['describe', 'cancel', 'query_events'])(
  'the caller that started a job may %s it, and the upstream gets its own id',
  async (action) => {
    const job = await startJob()
    expect(job).not.toContain('job-7')
    const response = await shared.gateway.post(`/v1/jobs/${action}`, { as: 'ann', body: { job_id: job } })
    expect(response.status).toBe(200)
    const [arrival] = shared.upstream.requests
    expect(arrival?.target).toBe(`/v1/jobs/${action}`)
    expect(JSON.parse(String(await arrival?.body))).toEqual({ job_id: 'job-7' })
  },
)

it('the errors of a job are selected by the id that its caller got', async () => {
  const job = await startJob(shared, 'bea')
  const response = await shared.gateway.post('/v1/table/team$t/errors', { as: 'bea', body: { job_id: job } })
  expect(response.status).toBe(200)
  expect(JSON.parse(String(await shared.upstream.requests[0]?.body))).toEqual({ job_id: 'job-7' })
})

it('a description has the id that its caller sent', async () => {
  const job = await startJob()
  shared.upstream.handler = respondWith(200, { job_id: 'job-7', job_state: 'DONE' })
  const response = await shared.gateway.post('/v1/jobs/describe', { as: 'ann', body: { job_id: job } })
  expect(response.json).toEqual({ job_id: job, job_state: 'DONE' })
})

it.each([
  ['/v1/materialized_view/team$v/refresh', {}],
  ['/v1/materialized_view/team$v/drop', undefined],
  ['/v1/view/team$v/drop', undefined],
  ['/v1/function/team$f/drop', { version: '1' }],
  ['/v1/table/team$t/drop', undefined],
  ['/v1/table/team$t/create_index', { column: 'c', index_type: 'BTREE', branch: 'dev' }],
])('a job of %s can be described by its caller', async (target, body) => {
  shared.upstream.handler = respondWith(200, { job_id: 'job-8' })
  const { json } = await shared.gateway.post(target, { as: 'ann', ...(body && { body }) })
  const job = (json as { job_id: string }).job_id
  const response = await shared.gateway.post('/v1/jobs/describe', { as: 'ann', body: { job_id: job } })
  expect(response.status).toBe(200)
})

it('a caller with the permission at the root may act on every job, and list jobs', async () => {
  await startJob()
  for (const [action, body] of [
    ['describe', { job_id: 'job-7' }],
    ['cancel', { job_id: 'job-7' }],
    ['query_events', { job_id: 'job-7', filter: "state = 'x'" }],
    ['list', {}],
  ] as const) {
    expect(await shared.gateway.post(`/v1/jobs/${action}`, { as: 'root', body })).toMatchObject({
      status: 200,
    })
  }
})

it('a caller loses its jobs with the permission for the operation that started them', async () => {
  const own = await startGatewayAndUpstream(setup)
  const job = await startJob(own)
  const describe = () => own.gateway.post('/v1/jobs/describe', { as: 'ann', body: { job_id: job } })
  expect(await describe()).toMatchObject({ status: 200 })
  const revoked = policies.filter(({ name }) => name !== 'team')
  await own.gateway.replacePolicies(formatPolicies(revoked))
  await eventually(async () => {
    expectError(await describe(), { kind: 'NamespaceNotFound', says: 'team' })
  })
})

it('the audit log records the id of the upstream, and the permission that allowed the cancellation', async () => {
  const job = await startJob()
  await shared.gateway.post('/v1/jobs/cancel', { as: 'ann', body: { job_id: job } })
  const intents = await shared.gateway.recorded('intent')
  expect(intents.at(-1)).toMatchObject({
    operation: 'CancelJob',
    details: { job_id: 'job-7' },
    objects: [{ operation: 'AlterTableBackfillColumns', id: ['team', 't'] }],
  })
})

it('the data of a schema is not taken for a job', async () => {
  shared.upstream.handler = respondWith(200, { job_id: 'of the caller' })
  const response = await shared.gateway.post('/v1/table/team$t/schema_metadata/update', {
    as: 'root',
    body: { job_id: 'of the caller' },
  })
  expect(response.json).toEqual({ job_id: 'of the caller' })
})
