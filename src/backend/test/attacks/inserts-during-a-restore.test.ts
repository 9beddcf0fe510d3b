import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

// The engine determines the order of the writers, so the test repeats until an insert was too late.
it('an insert after a restore is a conflict, not a damaged upload', async () => {
  const { post } = await runningBackend()
  const rows = streamOf(orders(2))
  expect((await post('/v1/table/t/create', rows)).status).toBe(200)
  const insert = () => post('/v1/table/t/insert', rows)
  const restore = () => post('/v1/table/t/restore', { version: 1 })
  let conflicts = 0
  for (let round = 0; round < 200 && conflicts === 0; round += 1) {
    const inserts = [insert(), insert(), insert()]
    await Promise.all([restore(), restore(), restore()])
    for (const response of await Promise.all(inserts)) {
      if (response.status === 200) continue
      expect(response).toEqual(errorOf('ConcurrentModification'))
      conflicts += 1
    }
  }
  expect(conflicts).toBeGreaterThan(0)
  await restore()
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(2))
})
