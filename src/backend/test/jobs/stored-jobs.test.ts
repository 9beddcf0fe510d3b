import { tableFromIPC, type Utf8 } from 'apache-arrow'
import { expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import type { JobState } from '../../database/schema.ts'
import { orders } from '../engine/sample-tables.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'
import { waitForJob } from './wait-for-job.ts'

const day = 24 * 60 * 60 * 1000

async function withFinishedJob() {
  const backend = await runningBackend()
  const { post } = backend
  await backend.createTable('t', orders(2))
  await post('/v1/table/t/add_columns', { new_columns: [{ name: 'double', computed: 'id * 2' }] })
  const started = await post('/v1/table/t/backfill_column', { column: 'double' })
  await waitForJob(post, started)
  const { job_id: jobId } = started.json as { job_id: string }
  /** Changes the record of the job while the catalog is stopped. */
  const rewrite = (values: object) =>
    backend.changeDatabase((database) =>
      database.updateTable('table_jobs').set(values).where('jobId', '=', jobId).execute(),
    )
  const describe = async () => (await post('/v1/jobs/describe', { job_id: jobId })).json
  return { ...backend, started, jobId, rewrite, describe }
}

const unfinished = (state: JobState) => ({ state, endedAt: null, result: null })

it('jobs are described and listed with their table, and survive a restart', async () => {
  const { post, restart, jobId, describe } = await withFinishedJob()
  const before = await describe()
  expect(before).toEqual({
    job_id: jobId,
    job_type: 'AlterTableBackfillColumns',
    job_state: 'DONE',
    creation_ms: expect.any(Number) as number,
    spec: { column: 'double' },
    result: expect.objectContaining({ rows_assigned: 2 }) as object,
  })
  await restart()
  expect(await describe()).toEqual(before)
  const row = { job_id: jobId, table: 't', job_type: 'AlterTableBackfillColumns', state: 'DONE' }
  expect((await post('/v1/jobs/list', {})).json).toMatchObject({ jobs: [row] })
})

it('listings of jobs have pages', async () => {
  const { post } = await withFinishedJob()
  const other = await post('/v1/table/t/backfill_column', { column: 'double' })
  await waitForJob(post, other)
  const seen: string[] = []
  const empty = (await post('/v1/jobs/list', { limit: 0 })).json as { jobs: []; page_token: string }
  expect(empty.jobs).toEqual([])
  let token: string | undefined = empty.page_token
  do {
    const { json } = await post('/v1/jobs/list', { limit: 1, page_token: token })
    const page = json as { jobs: { job_id: string }[]; page_token?: string }
    seen.push(...page.jobs.map(({ job_id }) => job_id))
    token = page.page_token
  } while (token !== undefined)
  expect(seen).toHaveLength(2)
  expect(new Set(seen).size).toBe(2)
})

const again = { job_state: 'DONE', result: { source_version: 3, published_version: 4 } }

it.each([
  ['a process left queued starts again with the next one', unfinished('queued'), again],
  ['a process left running starts again with the next one', unfinished('running'), again],
  [
    'has ended its process three times fails',
    { ...unfinished('running'), attempts: 3 },
    { job_state: 'FAILED', failure: { retryable: false } },
  ],
])('a job that %s', async (_what, record, outcome) => {
  const { post, rewrite, started } = await withFinishedJob()
  await rewrite(record)
  expect(await waitForJob(post, started)).toMatchObject(outcome)
})

it('a job of a dropped table fails, and its record remains', async () => {
  const { post, rewrite, started } = await withFinishedJob()
  await post('/v1/table/t/drop')
  await rewrite(unfinished('running'))
  const job = await waitForJob(post, started)
  expect(job).toMatchObject({ job_state: 'FAILED', failure: { message: 'the table was dropped' } })
})

it('jobs are forgotten seven days after their end', async () => {
  const { post, rewrite, jobId } = await withFinishedJob()
  await rewrite({ endedAt: Date.now() - 6 * day })
  expect(await post('/v1/jobs/describe', { job_id: jobId })).toMatchObject({ status: 200 })
  await rewrite({ endedAt: Date.now() - 8 * day })
  await post('/v1/table/t/backfill_column', { column: 'double' })
  await eventually(async () =>
    expect(await post('/v1/jobs/describe', { job_id: jobId })).toEqual(errorOf('TransactionNotFound')),
  )
})

it('the events of a job are the changes of its state', async () => {
  const { post, jobId } = await withFinishedJob()
  const query = async (body: object) => {
    const response = await post('/v1/jobs/query_events', { job_id: jobId, ...body })
    expect(response.status).toBe(200)
    return tableFromIPC<{ state: Utf8 }>(response.bytes())
      .toArray()
      .map(({ state }) => state)
  }
  expect(await query({})).toEqual(['QUEUED', 'IN_PROGRESS', 'DONE'])
  expect(await query({ limit: 1 })).toEqual(['DONE'])
  expect(await query({ filter: '', limit: 0 })).toEqual([])
})
