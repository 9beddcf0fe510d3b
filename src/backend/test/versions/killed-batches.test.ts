import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { orders } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'
import { runningProcess } from '../support/running-process.ts'
import { committer } from '../support/staged-manifests.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { isThorough } from '../../../../test/support/thorough.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

const ids = ['a', 'b', 'c']
const rounds = isThorough ? 6 : 2
const batchesOfRound = 4
const largestDelay = 40

it('leaves each batch complete or undone if killed', async () => {
  const folder = await temporaryFolder()
  const first = await runningBackend({}, folder)
  const locations: string[] = []
  for (const id of ids) locations.push(await first.createTable(id, orders(1)))
  await first.stop()

  for (let round = 0; round < rounds; round += 1) {
    const clients = await Promise.all(locations.map((location) => committer(location)))
    const batches = []
    for (let batch = 0; batch < batchesOfRound; batch += 1) {
      const staged = await Promise.all(clients.map((client) => client.stage()))
      batches.push(staged.map((request, index) => ({ id: [ids[index]], ...request })))
    }
    const { url, kill } = await runningProcess(folder)
    let acknowledged = 0
    const work = (async () => {
      for (const entries of batches) {
        const body = JSON.stringify({ entries })
        const response = await fetch(`${url}/v1/table/version/batch-create`, { method: 'POST', body })
        if (response.status === 200) acknowledged += 1
      }
    })().catch(() => {})
    await setTimeout(Math.random() * largestDelay)
    await kill()
    await work

    const { post, get, stop, versionsOf } = await runningBackend({}, folder)
    const newest = await Promise.all(ids.map(async (id) => (await versionsOf(id)).at(-1)))
    expect(new Set(newest).size).toBe(1)
    const done = (newest[0] ?? 0) - (batches[0]?.[0]?.version ?? 0) + 1
    expect([acknowledged, acknowledged + 1]).toContain(done)
    // The repair of a start does not hold up requests.
    await eventually(async () => expect(await readdir(join(folder, 'commits'))).toEqual([]))
    // No manifest is lost: what was not committed can be sent again.
    for (const entries of batches.slice(done)) {
      expect((await post('/v1/table/version/batch-create', { entries })).status).toBe(200)
    }
    for (const id of ids)
      expect((await get(`/v1/table/${id}/count_rows`)).json).toBe(1 + (round + 1) * batchesOfRound)
    await stop()
  }
})
