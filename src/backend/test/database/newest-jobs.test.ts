import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { insertJob, listNewestJobs } from '../../database/jobs.ts'
import { openSqlite } from '../../database/open-database.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

it('the newest jobs are those that were created last', async () => {
  const database = await openSqlite(join(await temporaryFolder(), 'catalog.sqlite'))
  onTestFinished(() => database.destroy())
  const ids: string[] = []
  for (let createdAt = 1; createdAt <= 8; createdAt += 1) {
    const jobId = await insertJob(database, { operation: 'o', objectId: 't', path: 't', request: {} })
    await database.updateTable('jobs').set({ created_at: createdAt }).where('job_id', '=', jobId).execute()
    ids.push(jobId)
  }
  const newest = await listNewestJobs(database, 3)
  expect(newest.map(({ jobId }) => jobId).toSorted()).toEqual(ids.slice(-3).toSorted())
})
