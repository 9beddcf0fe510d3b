import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { backendSettings } from '../backend/support/backend-settings.ts'
import { runCampaign } from './campaign.ts'
import { amount } from './extent.ts'
import { plantCatalog } from './planted-catalog.ts'
import { textOf } from './readings.ts'
import { spawnProcess } from './spawned-process.ts'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'

const count = amount(isThorough ? 5_000 : 600)

it(
  'hostile requests neither read nor change forbidden objects of the bundled catalog',
  { timeout: 120_000 + count * 40 },
  async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'differential-')))
    const settings = backendSettings(folder, { log: { level: 'debug' } })
    const catalog = await spawnProcess(new URL('../backend/support/catalog-process.ts', import.meta.url), [
      JSON.stringify(settings),
    ])
    try {
      const planted = await plantCatalog(catalog.firstLine)
      const before = await planted.forbiddenPart()
      const {
        authorized,
        faults: errors,
        statuses,
      } = await runCampaign({
        upstreamUrl: catalog.firstLine,
        seed,
        count,
      })
      const after = await planted.forbiddenPart()
      await catalog.end('at once')
      const resolved = catalog.log.filter(({ requestId }) => authorized.lines.has(String(requestId)))
      const differences = resolved.flatMap(({ requestId, operation, id }) => {
        const own = textOf({ operation: String(operation), id: id as string[] })
        const lines = authorized.lines.get(String(requestId)) ?? []
        return lines
          .map((line) => textOf({ operation: String(line['operation']), id: line['id'] as string[] }))
          .filter((text) => text !== own)
          .map((text) => `authorized as ${text}, but done as ${own}`)
      })
      console.info(
        `seed ${seed}: ${count} exchanges, ${resolved.length} reached the catalog, statuses ${JSON.stringify(statuses)}`,
      )
      expect([...differences, ...errors].slice(0, 20), `seed ${seed}`).toEqual([])
      expect(after).toEqual(before)
      expect(resolved.length).toBeGreaterThan(count / 10)
    } finally {
      await catalog.end('at once')
      await rm(folder, { recursive: true, force: true })
    }
  },
)
