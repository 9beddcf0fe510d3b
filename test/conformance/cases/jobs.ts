import { setTimeout } from 'node:timers/promises'
import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { tableFromIPC } from 'apache-arrow'
import type { Identifier } from '../../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../../src/catalog-api/operations.ts'
import { cases, type Check, type Fixture } from '../fixture.ts'

const timeoutMs = 60_000
const pollMs = 100

/** Waits until a job has ended. Returns its state. */
async function waitForJob({ ok }: Fixture, jobId: unknown): Promise<unknown> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const { job_state: state } = await ok('DescribeJob', [], { body: { job_id: jobId } })
    if (state !== 'IN_PROGRESS') return state
    assert(Date.now() < deadline, `the job has not ended within ${timeoutMs} ms`)
    await setTimeout(pollMs)
  }
}

async function addComputedColumn(fixture: Fixture): Promise<Identifier> {
  const id = await fixture.table(3)
  const new_columns = [{ name: 'double', computed: 'id * 2' }]
  await fixture.ok('AlterTableAddColumns', id, { body: { new_columns } })
  return id
}

async function startJob(fixture: Fixture, id: Identifier): Promise<unknown> {
  return (await fixture.ok('AlterTableBackfillColumns', id, { body: { column: 'double' } }))['job_id']
}

async function count({ call }: Fixture, id: Identifier, predicate: string): Promise<unknown> {
  return (await call('CountTableRows', id, { body: { predicate } })).json
}

const rejectsUnknownJob =
  (name: OperationName): Check =>
  ({ rejects }) =>
    rejects(name, [], { job_id: 'absent' }, 'TransactionNotFound')

export const jobCases = cases({
  AlterTableBackfillColumns: {
    'computes a column in every row': async (fixture) => {
      const id = await addComputedColumn(fixture)
      equal(await count(fixture, id, 'double IS NULL'), 3)
      equal(await waitForJob(fixture, await startJob(fixture, id)), 'DONE')
      equal(await count(fixture, id, 'double = id * 2'), 3)
    },
    'computes a column in the rows that a condition selects': async (fixture) => {
      const id = await addComputedColumn(fixture)
      const body = { column: 'double', where: 'id = 1' }
      const { job_id } = await fixture.ok('AlterTableBackfillColumns', id, { body })
      equal(await waitForJob(fixture, job_id), 'DONE')
      equal(await count(fixture, id, 'double IS NULL'), 2)
    },
    'rejects a column that is missing or not computed, and an invalid condition': async (fixture) => {
      const id = await addComputedColumn(fixture)
      for (const body of [
        { column: 'absent' },
        { column: 'name' },
        { column: 'double', where: 'absent = 1' },
        { column: 'double', where: 'true) OR (true' },
      ]) {
        await fixture.rejects('AlterTableBackfillColumns', id, body, 'InvalidInput', 'TableColumnNotFound')
      }
    },
  },
  ListJobs: {
    'lists a job once': async (fixture) => {
      const id = await addComputedColumn(fixture)
      await startJob(fixture, id)
      const { jobs } = await fixture.ok('ListJobs', [], { body: {} })
      // A gateway may give its callers other ids than the catalog lists.
      equal((jobs as { table: string }[]).filter(({ table }) => table === id.join('$')).length, 1)
    },
  },
  DescribeJob: {
    'describes a job by its id': async (fixture) => {
      const started = await startJob(fixture, await addComputedColumn(fixture))
      await waitForJob(fixture, started)
      const { job_id, job_state } = await fixture.ok('DescribeJob', [], { body: { job_id: started } })
      deepEqual([job_id, job_state], [started, 'DONE'])
    },
    'rejects an unknown job': rejectsUnknownJob('DescribeJob'),
  },
  CancelJob: {
    'accepts a job that has ended, and does not change it': async (fixture) => {
      const job_id = await startJob(fixture, await addComputedColumn(fixture))
      await waitForJob(fixture, job_id)
      await fixture.ok('CancelJob', [], { body: { job_id } })
      equal(await waitForJob(fixture, job_id), 'DONE')
    },
    'rejects an unknown job': rejectsUnknownJob('CancelJob'),
  },
  QueryJobEvents: {
    'returns the events of a job as an Arrow stream': async (fixture) => {
      const job_id = await startJob(fixture, await addComputedColumn(fixture))
      await waitForJob(fixture, job_id)
      const { status, bytes } = await fixture.call('QueryJobEvents', [], { body: { job_id } })
      equal(status, 200)
      assert(tableFromIPC(bytes).numRows > 0, 'a job that has ended has events')
    },
    'rejects an unknown job': rejectsUnknownJob('QueryJobEvents'),
  },
})
