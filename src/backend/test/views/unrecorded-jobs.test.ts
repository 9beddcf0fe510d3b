import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { waitForJob } from '../jobs/wait-for-job.ts'
import { refuseSecondValue } from '../support/refused-value.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'

it('a view does not exist if the job that fills it cannot be queued', async () => {
  const backend = await runningBackend()
  const { post } = backend
  await post('/v1/table/t/create', streamOf(orders(3)))
  const create = (name: string) =>
    post(`/v1/materialized_view/${name}/create`, { query: 'SELECT id FROM t', with_no_data: false })
  await waitForJob(post, await create('one'))
  const accept = await refuseSecondValue(backend, ['jobs', 'operation', 'CreateMaterializedView'])
  expect((await create('other')).status).toBeGreaterThan(400)
  expect(await post('/v1/table/other/exists', {})).toEqual(errorOf('TableNotFound'))
  await accept()
  expect(await waitForJob(post, await create('other'))).toMatchObject({ result: { rows_written: 3 } })
})
