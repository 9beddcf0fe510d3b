import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Int32, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { openLocalEngine, streamOf } from './sample-tables.ts'

const rows = 400_000

it('a change of all rows ends while others change single rows without a pause', async () => {
  const engine = openLocalEngine()
  const location = join(await temporaryFolder(), 't.lance')
  const ids = Array.from({ length: rows }, (_, row) => row)
  const table = new Table({
    id: vectorFromArray(ids, new Int32()),
    name: vectorFromArray(ids.map(String), new Utf8()),
  })
  await engine.create(location, streamOf(table), 'create')
  const over = new AbortController()
  const streams = [1, 2, 3, 4].map(async (id) => {
    while (!over.signal.aborted) await engine.update({ location }, `id = ${id}`, [['name', "'x'"]])
  })
  const long = engine.update({ location }, undefined, [['name', "concat(name, 'x')"]])
  const ended = await Promise.race([long, setTimeout(20_000, 'starved')])
  over.abort()
  await Promise.all([...streams, long])
  expect(ended).toMatchObject({ rowsUpdated: rows })
})
