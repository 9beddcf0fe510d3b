import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { openLock } from '../../catalog/locks.ts'
import { findObject } from '../../database/objects.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

/** Starts a catalog, and returns a function that holds the data lock of a table until its result is called. */
async function withLocks() {
  const backend = await runningBackend()
  const { database, locks, close } = await backend.openDatabase()
  onTestFinished(close)
  const dataLock = openLock('data', locks)
  const hold = async (id: Identifier) => {
    const table = await findObject(database, id)
    const [acquired, released] = [createDeferred(), createDeferred()]
    const holding = dataLock.runExclusive(table?.objectId ?? '', async () => {
      acquired.resolve(undefined)
      await released.promise
    })
    await acquired.promise
    return async () => {
      released.resolve(undefined)
      await holding
    }
  }
  const isGone = (id: Identifier) =>
    eventually(async () => expect(await findObject(database, id)).toBeUndefined())
  return { ...backend, database, hold, isGone }
}

it('a table is not replaced by a dataset that is dropped while it is registered', async () => {
  const { post, dataFolder, database, hold, isGone, createTable } = await withLocks()
  await createTable('r')
  const location = await createTable('t')
  const ownLocks = sql`select from pg_locks where locktype = 'advisory' and pid in (
    select pid from pg_stat_activity where application_name = current_setting('application_name'))`
  const countLocks = async () => (await ownLocks.execute(database)).rows.length

  const release = await hold(['r'])
  const registering = post('/v1/table/r/register', {
    location: relative(join(dataFolder, 'tables'), location),
    mode: 'Overwrite',
  })
  await eventually(async () => expect(await countLocks()).toBeGreaterThan(1))
  const dropping = post('/v1/table/t/drop')
  await isGone(['t'])
  await release()
  expect(await registering).toEqual(errorOf('TableAlreadyExists'))
  expect((await dropping).status).toBe(200)

  await eventually(() => expect(existsSync(location)).toBe(false))
  expect(await post('/v1/table/r/count_rows', {})).toEqual(responseOf(3))
})
