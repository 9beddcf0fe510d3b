import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

it('a page token and the id of a job are valid after a restart without a configured key', async () => {
  const first = await startGatewayAndUpstream()
  first.upstream.handler = respondWith(200, { tables: ['a', 'b'] })
  const page = await first.gateway.get('/v1/namespace/team/table/list?limit=1')
  first.upstream.handler = respondWith(202, { job_id: 'job-7' })
  const started = await first.gateway.post('/v1/table/team$t/backfill_column', { body: { column: 'c' } })
  await first.gateway.stop()
  const folder = first.gateway.auditFolder
  expect((await stat(join(folder, 'token-key'))).mode & 0o777).toBe(0o600)

  const { gateway, upstream } = await startGatewayAndUpstream({ settings: { audit: { folder } } })
  upstream.handler = respondWith(200, { tables: ['a', 'b'] })
  const { page_token: token } = page.json as { page_token: string }
  const next = await gateway.get(
    `/v1/namespace/team/table/list?limit=1&page_token=${encodeURIComponent(token)}`,
  )
  expect(next).toMatchObject({ status: 200, json: { tables: ['b'] } })
  upstream.handler = respondWith(200, { job_id: 'job-7', job_state: 'DONE' })
  const described = await gateway.post('/v1/jobs/describe', { body: started.json as object })
  expect(described).toMatchObject({ status: 200, json: { ...(started.json as object), job_state: 'DONE' } })
})
