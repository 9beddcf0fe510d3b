import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'
import { runningProcess } from '../support/running-process.ts'
import { everyInTheLongForm } from '../../../../test/support/thorough.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

it('leaves no partial state if killed while creating and dropping tables', async () => {
  const folder = await temporaryFolder()
  const rows = 20_000
  const stream = streamOf(orders(rows))
  for (const delay of everyInTheLongForm([30, 5, 200, 80], 2)) {
    const { url, kill } = await runningProcess(folder)
    const ask = (operation: string, body?: Uint8Array) =>
      fetch(`${url}/v1/table/${operation}`, { method: 'POST', ...(body && { body }) }).catch(() => undefined)
    const work = Array.from({ length: 6 }, async (_, index) => {
      for (let round = 0; round < 20; round += 1) {
        await ask(`t${index}/create`, stream)
        if (round < 19) await ask(`t${index}/drop`)
      }
    })
    await setTimeout(delay)
    await kill()
    await Promise.all(work)

    const { get, post, stop } = await runningBackend({}, folder)
    const { tables } = (await get('/v1/table')).json as { tables: string[] }
    const locations: string[] = []
    for (const id of tables) {
      expect((await get(`/v1/table/${id}/count_rows`)).json).toBe(rows)
      locations.push(((await post(`/v1/table/${id}/describe`)).json as { location: string }).location)
    }
    // It repairs while it serves.
    await eventually(async () => {
      const folders = (await readdir(join(folder, 'tables'))).filter((name) => name.endsWith('.lance'))
      expect(folders.map((name) => join(folder, 'tables', name)).toSorted()).toEqual(locations.toSorted())
    })
    for (const id of tables) expect((await post(`/v1/table/${id}/drop`)).status).toBe(200)
    await stop()
  }
})
