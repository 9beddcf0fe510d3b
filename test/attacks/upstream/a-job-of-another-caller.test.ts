import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A job has no namespace. Its id, sealed by the gateway, says who started it by which operation; nothing else gives
// access to a job without permission at the root.
const attacked = attackedGateway({
  users: ['ann', 'bob'],
  policies: [policyOf(['team'], [ruleFor(['ann', 'bob'])])],
})

async function startJob(as: string): Promise<string> {
  attacked.upstream.handler = respondWith(202, { job_id: 'job-7' })
  const response = await attacked.gateway.post('/v1/table/team$t/backfill_column', {
    as,
    body: { column: 'c' },
  })
  attacked.upstream.requests.length = 0
  attacked.upstream.handler = respondWith(200, {})
  return (response.json as { job_id: string }).job_id
}

const actions = ['describe', 'cancel', 'query_events'] as const
const refusal = { kind: 'PermissionDenied', says: 'on the root' } as const

it.each(actions)('the id of an upstream is no access to a job: %s', async (action) => {
  await startJob('ann')
  for (const body of [{ job_id: 'job-7' }, {}, { job_id: null }])
    await attacked.expectRefused({ as: 'ann', target: `/v1/jobs/${action}`, body }, refusal)
  await attacked.expectRefused({ as: 'ann', target: `/v1/jobs/${action}` }, refusal)
  await attacked.expectInvalid(
    { as: 'ann', target: `/v1/jobs/${action}`, body: { job_id: ['job-7'] } },
    '"job_id" in the body is a list; expected a string',
  )
})

it.each(actions)('the sealed id of another caller, or a modified one, is no access: %s', async (action) => {
  const target = `/v1/jobs/${action}`
  const job = await startJob('ann')
  await attacked.expectRefused({ as: 'bob', target, body: { job_id: job } }, refusal)
  for (const modified of [job.slice(0, -4), `${job}AAAA`, job.replace(/^\/.{8}/, '/AAAAAAAA'), '/', '/AAAA'])
    await attacked.expectRefused({ as: 'ann', target, body: { job_id: modified } }, refusal)
  await attacked.expectForwarded({ as: 'ann', target, body: { job_id: job } })
})

it.each(['Job_ID', 'JOB_ID', 'job_id\u0000'])('a second id under the name %j is refused', async (name) => {
  const job = await startJob('ann')
  await attacked.expectInvalid(
    { as: 'ann', target: '/v1/jobs/cancel', body: { job_id: job, [name]: 'job-of-bob' } },
    'job_id',
  )
})

it('a filter could select the events of other jobs, so it requires permission at the root', async () => {
  const job = await startJob('ann')
  const body = { job_id: job, filter: "state = 'x' OR true" }
  await attacked.expectRefused({ as: 'ann', target: '/v1/jobs/query_events', body }, refusal)
})

it('jobs are not listed without permission at the root', async () => {
  await attacked.expectRefused({ as: 'ann', target: '/v1/jobs/list', body: {} }, refusal)
})

it('a page token is no id of a job', async () => {
  attacked.upstream.handler = respondWith(200, { tables: ['a', 'b', 'c'] })
  const page = await attacked.gateway.get('/v1/namespace/team/table/list?limit=1', { as: 'ann' })
  const token = (page.json as { page_token: string }).page_token
  expect(token).toMatch(/^\//)
  attacked.upstream.requests.length = 0
  await attacked.expectRefused({ as: 'ann', target: '/v1/jobs/describe', body: { job_id: token } }, refusal)
})
