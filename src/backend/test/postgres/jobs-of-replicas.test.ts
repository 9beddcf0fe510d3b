import { pino } from 'pino'
import { expect, inject, onTestFinished, it } from 'vitest'
import { JobRunner } from '../../catalog/jobs/job-runner.ts'
import { openLock } from '../../catalog/locks/lock.ts'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { fixed } from '../../../lib/fs/follow-files.ts'
import { openPostgres } from '../../database/postgres.ts'
import { eventually } from '../../../../test/support/eventually.ts'

const log = pino({ level: 'silent' })
const newJob = { operation: 'Wait', objectId: 'o', path: '[]', request: {} }

/** Opens the jobs of a replica, whose work does not end before the test. */
async function openReplica(schema: string) {
  const { database, locks } = await openPostgres(
    { url: fixed(inject('postgresUrl') ?? ''), schema, maxConnections: 4 },
    log,
  )
  const finished = createDeferred()
  const running = new Set<string>()
  const jobs = new JobRunner(
    { database, jobLock: openLock('job', locks), log },
    {
      Wait: async ({ jobId }) => {
        running.add(jobId)
        await finished.promise
        return {}
      },
    },
  )
  onTestFinished(async () => {
    finished.resolve(undefined)
    await jobs.close()
    await database.destroy()
    await locks.close()
  })
  return { jobs, running }
}

it('a replica runs the jobs behind those that another one runs', async () => {
  const schema = `jobs_${process.pid}`
  const one = await openReplica(schema)
  for (let count = 0; count < 5; count += 1) await one.jobs.submit(newJob)
  await eventually(() => expect(one.running.size).toBe(2))
  const other = await openReplica(schema)
  await eventually(() => expect(other.running.size).toBe(2))
  expect(new Set([...one.running, ...other.running]).size).toBe(4)
})
