import { connect } from '@lancedb/lancedb'
import { expect, it } from 'vitest'
import { isThorough } from '../../../../test/support/thorough.ts'
import { toCatalogError } from '../../catalog/known-errors.ts'
import { withUploadErrors } from '../../engine/native/native-errors.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

it('inserts between restores are complete or conflicts', async () => {
  const { post } = await runningBackend()
  const rows = streamOf(orders(2))
  expect((await post('/v1/table/t/create', rows)).status).toBe(200)
  const insert = () => post('/v1/table/t/insert', rows)
  const restore = () => post('/v1/table/t/restore', { version: 1 })
  for (let round = 0; round < (isThorough ? 20 : 5); round += 1) {
    const inserts = [insert(), insert(), insert()]
    await Promise.all([restore(), restore(), restore()])
    for (const response of await Promise.all(inserts)) {
      if (response.status !== 200) expect(response).toEqual(errorOf('ConcurrentModification'))
    }
  }
  await restore()
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(2))
})

it('an insert that was prepared before a restore is a conflict, not a damaged upload', async () => {
  const folder = await temporaryFolder()
  const [one, other] = [await connect(folder), await connect(folder)]
  const restored = await one.createTable('t', [{ id: 1 }])
  await restored.add([{ id: 2 }])
  const prepared = await other.openTable('t')
  await restored.checkout(1)
  await restored.restore()
  const failure: unknown = await withUploadErrors(() => prepared.add([{ id: 3 }])).catch(toCatalogError)
  expect(failure).toMatchObject({ kind: 'ConcurrentModification' })
})
