import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { backendSettings } from '../../src/backend/test/support/backend-settings.ts'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'
import { runCampaign } from './campaign.ts'
import { formatInterpretation } from './interpretation.ts'
import { prepareCatalog } from './prepare-catalog.ts'
import { requestCount } from './request-count.ts'
import { spawnProcess, type LogLine } from './spawned-process.ts'

const count = requestCount(isThorough ? 1_500 : 100)

it(
  'hostile requests neither read nor change forbidden objects of the bundled catalog',
  { timeout: 120_000 + count * 40 },
  async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'differential-')))
    const settings = backendSettings(folder, { log: { level: 'debug' } })
    const catalog = await spawnProcess(
      new URL('../../src/backend/test/support/catalog-process.ts', import.meta.url),
      [JSON.stringify(settings)],
    )
    try {
      const upstreamUrl = catalog.firstLine
      const { readForbiddenObjects } = await prepareCatalog(upstreamUrl)
      const before = await readForbiddenObjects()
      const { records, errors, statuses } = await runCampaign({ upstreamUrl, seed, count })
      const after = await readForbiddenObjects()
      await catalog.kill()
      const executed = catalog.log.filter(({ requestId }) => records.lines.has(String(requestId)))
      const differences = executed.flatMap((line) => {
        const actual = formatLine(line)
        const authorized = records.lines.get(String(line['requestId'])) ?? []
        return authorized
          .map(formatLine)
          .filter((text) => text !== actual)
          .map((text) => `authorized as ${text}, executed as ${actual}`)
      })
      console.info(
        `seed ${seed}: ${count} inputs, ${executed.length} upstream requests, statuses ${JSON.stringify(statuses)}`,
      )
      expect([...differences, ...errors].slice(0, 20), `seed ${seed}`).toEqual([])
      expect(after).toEqual(before)
      expect(executed.length).toBeGreaterThan(count / 10)
    } finally {
      await catalog.kill()
      await rm(folder, { recursive: true, force: true })
    }
  },
)

function formatLine({ operation, id }: LogLine): string {
  return formatInterpretation({ operation: String(operation), id: id as string[] })
}
