import { expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { waitForJob } from '../jobs/wait-for-job.ts'
import { heldUpload } from '../support/held-upload.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

const upload = streamOf(orders(1000))

/** Starts a catalog with memory for one such upload, and a view of the rows of `uploads` of them. */
async function withView(uploads: number) {
  const limits = { maxUploadBytes: 2 * upload.length, maxUploadMemoryBytes: 2 * upload.length }
  const backend = await runningBackend({ limits })
  const { post } = backend
  await post('/v1/table/t/create', upload)
  for (let count = 1; count < uploads; count += 1) await post('/v1/table/t/insert', upload)
  await post('/v1/materialized_view/v/create', { query: 'SELECT * FROM t' })
  const refresh = async () => await waitForJob(post, await post('/v1/materialized_view/v/refresh', {}))
  return { ...backend, refresh, limits }
}

it('a view that is larger than an upload may be is not refreshed', async () => {
  const { post, refresh, limits } = await withView(4)
  const message = `the view has more than ${limits.maxUploadBytes} bytes; select fewer columns or rows, or set a limit`
  const failure = { message, retryable: false }
  expect(await refresh()).toMatchObject({ job_state: 'FAILED', failure })
  expect(await post('/v1/table/v/count_rows', {})).toEqual(responseOf(0))
})

it('a refresh that finds the memory of uploads in use fails, and can be repeated', async () => {
  const view = await withView(1)
  const { post, refresh, limits } = view
  const slow = await heldUpload(view, limits.maxUploadBytes)
  const failure = {
    message:
      'no memory for Arrow data is left (limits.maxUploadMemoryBytes of the bundled catalog); retry in 1 s',
    retryable: true,
  }
  expect(await refresh()).toMatchObject({ job_state: 'FAILED', failure })
  slow.destroy()
  await eventually(async () => expect(await refresh()).toMatchObject({ job_state: 'DONE' }))
  expect(await post('/v1/table/v/count_rows', {})).toEqual(responseOf(1000))
})
