import pg from 'pg'
import { pino } from 'pino'
import { expect, inject, onTestFinished, it } from 'vitest'
import { fixed } from '../../../lib/fs/follow-files.ts'
import { openPostgres } from '../../database/postgres.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { endConnections } from './end-connections.ts'

let schemas = 0

/** Opens the stores of several replicas on one schema. */
async function openReplicas(count: number) {
  const schema = `locks_${process.pid}_${schemas++}`
  const url = inject('postgresUrl') ?? ''
  const options = { url: fixed(url), schema, maxConnections: 4 }
  const replicas = await Promise.all(
    Array.from({ length: count }, () => openPostgres(options, pino({ level: 'silent' }))),
  )
  onTestFinished(async () => {
    for (const { database, locks } of replicas) {
      await database.destroy()
      await locks.close()
    }
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

function gate() {
  let resolve: (() => void) | undefined
  const opened = new Promise<void>((opens) => {
    resolve = opens
  })
  return { open: () => resolve?.(), opened }
}

it('migrates the store once when replicas start concurrently', async () => {
  const { replicas } = await openReplicas(4)
  for (const { database } of replicas) {
    const rows = await database.selectFrom('objects').select('object_id').execute()
    expect(rows).toEqual([{ object_id: 'root' }])
  }
})

it('grants an exclusive lock to one replica, and not while it is shared', async () => {
  const { replicas } = await openReplicas(3)
  const inside = { exclusive: 0, shared: 0 }
  let mostShared = 0
  const work = (mode: 'exclusive' | 'shared') => async () => {
    inside[mode] += 1
    mostShared = Math.max(mostShared, inside.shared)
    expect(inside.exclusive === 0 || (inside.exclusive === 1 && inside.shared === 0)).toBe(true)
    await new Promise(setImmediate)
    inside[mode] -= 1
  }
  await Promise.all(
    replicas.map(async ({ locks }, replica) => {
      for (let round = 0; round < 30; round += 1) {
        const mode = (round + replica) % 3 === 0 ? 'exclusive' : 'shared'
        await locks.run('k', mode, work(mode))
      }
    }),
  )
  expect(inside).toEqual({ exclusive: 0, shared: 0 })
})

it('grants a waiting exclusive lock before later shared ones', async () => {
  const { replicas, countExclusiveLocks } = await openReplicas(3)
  const [first, second, third] = replicas
  const { open, opened } = gate()
  const events: string[] = []
  const started = gate()
  const sharing = first?.locks.run('k', 'shared', async () => {
    started.open()
    await opened
    events.push('first shared')
  })
  await started.opened
  const exclusive = second?.locks.run('k', 'exclusive', async () => events.push('exclusive'))
  // The lock of the gate, which later requests must not pass.
  await eventually(async () => expect(await countExclusiveLocks()).toBe(1))
  const later = third?.locks.run('k', 'shared', async () => events.push('shared'))
  // A replica makes its requests one after the other: that for the lock has been refused before this one.
  await third?.locks.run('another', 'shared', async () => undefined)
  open()
  await Promise.all([sharing, exclusive, later])
  expect(events).toEqual(['first shared', 'exclusive', 'shared'])
})

it('skips work under a lock that another replica holds', async () => {
  const { replicas } = await openReplicas(2)
  const [first, second] = replicas
  let ran = 0
  const count = async (): Promise<void> => {
    ran += 1
  }
  await first?.locks.run('k', 'shared', async () => second?.locks.runIfFree('k', count))
  expect(ran).toBe(0)
  // The release of a lock is not awaited, but precedes the next query of the same process.
  await first?.locks.run('another', 'exclusive', async () => undefined)
  await second?.locks.runIfFree('k', count)
  expect(ran).toBe(1)
})

it('frees a lock when its connection ends, and prevents commits under it', async () => {
  const { replicas, cutOff } = await openReplicas(2)
  const [first, second] = replicas
  const work = first?.locks.run('k', 'exclusive', async () => {
    await cutOff()
    // The other replica gets the lock.
    await second?.locks.run('k', 'exclusive', async () => {})
    await first.database.transaction().execute(async (database) => {
      await database.insertInto('leftovers').values({ location: 'x', object_id: 'x' }).execute()
    })
  })
  await expect(work).rejects.toMatchObject({ status: 503 })
  expect(await second?.database.selectFrom('leftovers').selectAll().execute()).toEqual([])
  // The next work runs under a lock again.
  expect(await first?.locks.run('k', 'exclusive', async () => 'done')).toBe('done')
})

it('serializes transactions that read before they write', async () => {
  const { replicas } = await openReplicas(2)
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      replicas[index % 2]?.database.transaction().execute(async (database) => {
        const rows = await database.selectFrom('leftovers').select('location').execute()
        const location = String(rows.length).padStart(3, '0')
        await database.insertInto('leftovers').values({ location, object_id: 'x' }).execute()
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
