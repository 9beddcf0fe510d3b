import { tableFromIPC, type Int32 } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { orders } from '../engine/sample-tables.ts'
import { errorOf, responseOf, backendWithTable } from '../support/running-backend.ts'
import { waitForJob } from './wait-for-job.ts'

async function withComputedColumn(expression = 'id * 2') {
  const backend = await backendWithTable(orders(4))
  const { post } = backend
  await post('/v1/table/t/add_columns', { new_columns: [{ name: 'double', computed: expression }] })
  const values = async (branch?: string) => {
    const response = await post('/v1/table/t/query', { k: 9, columns: ['id', 'double'], branch })
    return Object.fromEntries(
      tableFromIPC<{ id: Int32; double: Int32 }>(response.bytes())
        .toArray()
        .map(({ id, double }) => [id, double]),
    )
  }
  return { ...backend, values }
}

it('a backfill computes a column in every row by one commit, also again after the rows have changed', async () => {
  const { post, values } = await withComputedColumn()
  const started = await post('/v1/table/t/backfill_column', { column: 'double' })
  expect(started).toEqual(responseOf({ job_id: expect.any(String) as string }, 202))
  expect(await waitForJob(post, started)).toMatchObject({
    job_state: 'DONE',
    result: { rows_assigned: 4, rows_failed: 0, rows_remaining: 0, source_version: 2, published_version: 3 },
  })
  expect(await values()).toEqual({ 0: 0, 1: 2, 2: 4, 3: 6 })
  await post('/v1/table/t/update', { updates: [['id', 'id + 10']] })
  await waitForJob(post, await post('/v1/table/t/backfill_column', { column: 'double' }))
  expect(await values()).toEqual({ 10: 20, 11: 22, 12: 24, 13: 26 })
})

it('a backfill of a branch leaves the main branch as it is, and settings of a distributed one have no effect', async () => {
  const { post, values } = await withComputedColumn()
  await post('/v1/table/t/branches/create', { name: 'dev' })
  const ofDistributed = { concurrency: 9, cluster: 'big', num_frags: 1 }
  const body = { column: 'double', branch: 'dev', ...ofDistributed }
  await waitForJob(post, await post('/v1/table/t/backfill_column', body))
  expect(await values('dev')).toEqual({ 0: 0, 1: 2, 2: 4, 3: 6 })
  expect(await values()).toEqual({ 0: null, 1: null, 2: null, 3: null })
})

const refused: readonly (readonly [body: object, error: ErrorName])[] = [
  [{ column: 'double', where: 'id + 1' }, 'InvalidInput'],
  [{ column: 'double', where: 'id IN (SELECT id FROM u)' }, 'Unsupported'],
  [{ column: 'double', branch: 'absent' }, 'TableBranchNotFound'],
  [{ column: 'double', read_version: 9 }, 'TableVersionNotFound'],
  [{ column: 'double', read_version: 1 }, 'Unsupported'],
]

it('refuses what it cannot compute, and starts no job', async () => {
  const { post } = await withComputedColumn()
  for (const [body, error] of refused) {
    expect(await post('/v1/table/t/backfill_column', body), JSON.stringify(body)).toEqual(errorOf(error))
  }
  expect(await post('/v1/jobs/list', {})).toEqual(responseOf({ jobs: [] }))
})

it('a failed backfill changes nothing and says why, without paths', async () => {
  const { post, values, dataFolder } = await withComputedColumn('10 / (id - 2)')
  const job = await waitForJob(post, await post('/v1/table/t/backfill_column', { column: 'double' }))
  expect(job).toMatchObject({ job_state: 'FAILED', failure: { retryable: false } })
  expect(job.failure?.message).toContain('Divide by zero')
  expect(job.failure?.message).not.toContain(dataFolder)
  expect(await values()).toEqual({ 0: null, 1: null, 2: null, 3: null })
})

it('a backfill beside a stream of updates takes its turn', async () => {
  const { post } = await withComputedColumn()
  const ended = new AbortController()
  const update = async (): Promise<void> => {
    while (!ended.signal.aborted)
      expect(
        (await post('/v1/table/t/update', { predicate: 'id = 3', updates: [['name', "'x'"]] })).status,
      ).toBe(200)
  }
  const updates = Promise.all([update(), update()])
  const started = await post('/v1/table/t/backfill_column', { column: 'double' })
  const job = await waitForJob(post, started)
  ended.abort()
  await updates
  const { source_version: read, published_version: written } = job.result ?? {}
  expect(written, 'nothing was committed between its read and its commit').toBe(Number(read) + 1)
})
