import pg from 'pg'
import { pino } from 'pino'
import { expect, inject, onTestFinished, it } from 'vitest'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { openPostgres } from '../../database/postgres.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { endConnections } from './end-connections.ts'

let schemas = 0

/** Opens the stores of several replicas on one schema. */
async function openReplicas(count: number) {
  const schema = `locks_${process.pid}_${schemas++}`
  const url = inject('postgresUrl') ?? ''
  const options = { url, schema, maxConnections: 4 }
  const replicas = await Promise.all(
    Array.from({ length: count }, () => openPostgres(options, pino({ level: 'silent' }))),
  )
  onTestFinished(async () => {
    for (const { close } of replicas) await close()
  })
  const administrator = new pg.Client(url)
  await administrator.connect()
  onTestFinished(() => administrator.end())
  const applicationName = `catalog-gateway ${schema}`
  return {
    replicas,
    /** Ends all connections of these replicas, as an operator may. */
    cutOff: () => endConnections(administrator, 'application_name', applicationName),
    countExclusiveLocks: async () => {
      const { rowCount } = await administrator.query(
        "select 1 from pg_locks join pg_stat_activity using (pid) where application_name = $1 and locktype = 'advisory' and mode = 'ExclusiveLock'",
        [applicationName],
      )
      return rowCount
    },
  }
}

it('migrates the store once when replicas start concurrently', async () => {
  const { replicas } = await openReplicas(4)
  for (const { database } of replicas) {
    const rows = await database.selectFrom('objects').select('objectId').execute()
    expect(rows).toEqual([{ objectId: 'root' }])
  }
})

it('grants a lock to one replica at a time, to all of its work', async () => {
  const { replicas } = await openReplicas(3)
  let holder: number | undefined
  let inside = 0
  const work = (replica: number) => async () => {
    expect(inside === 0 || holder === replica).toBe(true)
    holder = replica
    inside += 1
    await new Promise(setImmediate)
    inside -= 1
  }
  await Promise.all(
    replicas.flatMap(({ locks }, replica) =>
      Array.from({ length: 2 }, async () => {
        for (let round = 0; round < 30; round += 1) await locks.run('k', work(replica))
      }),
    ),
  )
  expect(inside).toBe(0)
})

it('grants a lock to a replica that waits before others, and before its holder once more', async () => {
  const { replicas, countExclusiveLocks } = await openReplicas(3)
  const [first, second, third] = replicas
  const [started, opened] = [createDeferred(), createDeferred()]
  const events: string[] = []
  const holding = first?.locks.run('k', async () => {
    started.resolve(undefined)
    await opened.promise
    events.push('first')
  })
  await started.promise
  const waiting = second?.locks.run('k', async () => events.push('second'))
  // The lock itself, and that of the gate, which later requests must not pass.
  await eventually(async () => expect(await countExclusiveLocks()).toBe(2))
  const later = [first, third].map((replica) => replica?.locks.run('k', async () => events.push('later')))
  // A replica makes its requests one after the other: that for the lock has been refused before this one.
  for (const replica of [first, third]) await replica?.locks.run('another', async () => undefined)
  opened.resolve(undefined)
  await Promise.all([holding, waiting, ...later])
  expect(events).toEqual(['first', 'second', 'later', 'later'])
})

it('skips work under a lock that another replica holds', async () => {
  const { replicas } = await openReplicas(2)
  const [first, second] = replicas
  let ran = 0
  const count = async (): Promise<void> => {
    ran += 1
  }
  await first?.locks.run('k', async () => second?.locks.runIfFree('k', count))
  expect(ran).toBe(0)
  // The release of a lock is not awaited, but precedes the next query of the same process.
  await first?.locks.run('another', async () => undefined)
  await second?.locks.runIfFree('k', count)
  expect(ran).toBe(1)
})

it('frees a lock when its connection ends, and prevents commits under it', async () => {
  const { replicas, cutOff } = await openReplicas(2)
  const [first, second] = replicas
  const work = first?.locks.run('k', async () => {
    await cutOff()
    // The other replica gets the lock.
    await second?.locks.run('k', async () => {})
    await first.transact(async (database) => {
      await database.insertInto('leftovers').values({ location: 'x', objectId: 'x' }).execute()
    })
  })
  await expect(work).rejects.toMatchObject({ status: 503 })
  expect(await second?.database.selectFrom('leftovers').selectAll().execute()).toEqual([])
  // The next work runs under a lock again.
  expect(await first?.locks.run('k', async () => 'done')).toBe('done')
})

it('serializes transactions that read before they write', async () => {
  const { replicas } = await openReplicas(2)
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      replicas[index % 2]?.transact(async (database) => {
        const rows = await database.selectFrom('leftovers').select('location').execute()
        const location = String(rows.length).padStart(3, '0')
        await database.insertInto('leftovers').values({ location, objectId: 'x' }).execute()
      }),
    ),
  ).catch((error: unknown) => {
    // Concurrent transactions may fail with a retryable error, but must never leave a gap.
    expect(error).toMatchObject({ code: expect.stringMatching(/^(40001|23505)$/) })
  })
  const rows = await replicas[0]?.database.selectFrom('leftovers').select('location').execute()
  expect(rows?.map(({ location }) => Number(location)).toSorted((one, other) => one - other)).toEqual(
    rows?.map((_, index) => index),
  )
})
