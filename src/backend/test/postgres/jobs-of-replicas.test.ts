import { pino } from 'pino'
import { expect, inject, onTestFinished, it } from 'vitest'
import { startJobRunner } from '../../catalog/job-runner.ts'
import { openLock } from '../../catalog/locks.ts'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { insertObject } from '../../database/objects.ts'
import { openPostgres } from '../../database/postgres.ts'
import { eventually } from '../../../../test/support/eventually.ts'

const log = pino({ level: 'silent' })
const newJob = { operation: 'Wait', path: '[]', request: {} }

/** Opens the jobs of a replica, whose work does not end before the test. */
async function openReplica(schema: string) {
  const { database, locks, close } = await openPostgres(
    { url: inject('postgresUrl') ?? '', schema, maxConnections: 4 },
    log,
  )
  const finished = createDeferred()
  /** Those with a running job. */
  const tables = new Set<string>()
  const jobs = startJobRunner(database, openLock('job', locks), log, {
    Wait: async ({ objectId }) => {
      expect(tables.has(objectId)).toBe(false)
      tables.add(objectId)
      await finished.promise
      return {}
    },
  })
  onTestFinished(async () => {
    finished.resolve(undefined)
    await jobs.close()
    await close()
  })
  return { database, jobs, tables }
}

it('a replica runs the jobs behind those that another one runs', async () => {
  const schema = `jobs_${process.pid}`
  const one = await openReplica(schema)
  for (let count = 0; count < 9; count += 1) {
    const objectId = `table ${count}`
    await insertObject(one.database, [objectId], {}, { objectId, location: objectId, state: 'ready' })
    for (const job of [newJob, newJob]) await one.jobs.submit({ ...job, objectId })
  }
  await eventually(() => expect(one.tables.size).toBe(4))
  const other = await openReplica(schema)
  await eventually(() => expect(other.tables.size).toBe(4))
  expect(new Set([...one.tables, ...other.tables]).size).toBe(8)
})
