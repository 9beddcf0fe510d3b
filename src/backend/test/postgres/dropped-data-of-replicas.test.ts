import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { openLock } from '../../catalog/locks/lock.ts'
import { findObject } from '../../database/objects.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

it('a replica keeps data that was registered again after another one had deleted it', async () => {
  const one = await runningBackend()
  const { database, locks, close } = await one.openDatabase()
  await one.post('/v1/namespace/n/create', {})
  for (const name of ['busy', 'orders'])
    expect((await one.post(`/v1/table/n$${name}/declare`, {})).status).toBe(200)
  await one.post('/v1/table/n$orders/insert', streamOf(orders(3)))
  const busy = await findObject(database, ['n', 'busy'])
  const { location } = (await one.post('/v1/table/n$orders/describe', {})).json as { location: string }
  const copy = join(one.dataFolder, 'copy')
  await cp(location, copy, { recursive: true })

  const held = createDeferred()
  const dataLock = openLock('data', locks)
  const holding = dataLock.runExclusive(busy?.objectId ?? '', () => held.promise)
  const dropping = one.post('/v1/namespace/n/drop', { behavior: 'Cascade' })
  await eventually(async () => expect(await findObject(database, ['n'])).toBeUndefined())
  expect(existsSync(location)).toBe(true)
  // It repairs when it starts, and skips the table that is busy.
  const other = await runningBackend({}, one.dataFolder)
  expect(existsSync(location)).toBe(false)
  await cp(copy, location, { recursive: true })
  const registered = await other.post('/v1/table/r/register', { location: location.split('/tables/')[1] })
  expect(registered).toEqual(responseOf({ location, properties: {} }))
  held.resolve(undefined)
  await holding
  expect((await dropping).status).toBe(200)

  expect(await other.post('/v1/table/r/count_rows', {})).toEqual(responseOf(3))
  await close()
})
