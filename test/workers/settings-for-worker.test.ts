import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readGatewaySettings, type GatewaySettings } from '../../src/config/gateway-settings.ts'
import { createWorkerSettings } from '../../src/workers/settings-for-worker.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const least = {
  upstream: { url: 'https://catalog.example' },
  identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
  policies: { folder: 'policies' },
  audit: { folder: '/var/audit' },
}

async function read(settings: object, environment: Record<string, string> = {}): Promise<GatewaySettings> {
  const file = join(await temporaryFolder(), 'gateway.yaml')
  await writeFile(file, stringify({ ...least, ...settings }))
  return readGatewaySettings(file, environment)
}

/** Divided settings, each with the minimum of a part. */
const divided: readonly (readonly [string, (settings: GatewaySettings) => number | undefined, number])[] = [
  ['limits.maxConnections', ({ limits }) => limits.maxConnections, 1],
  ['limits.maxConnectionsPerAddress', ({ limits }) => limits.maxConnectionsPerAddress, 1],
  ['limits.concurrency', ({ limits }) => limits.concurrency[0]?.maxRequests, 1],
  ['limits.failedAuthentications.burst', ({ limits }) => limits.failedAuthentications?.burst, 1],
  ['maxConnections', ({ upstreams }) => upstreams[0]?.maxConnections, 1],
  ['audit.reserveBytes', ({ audit }) => audit.reserveBytes, 0],
  ['audit.retention.maxBytes', ({ audit }) => audit.retention.maxBytes, 1024 * 1024],
]

const allLimits = {
  limits: {
    maxConnections: 1_003,
    maxConnectionsPerAddress: 7,
    concurrency: [{ name: 'rows', per: 'principal', maxRequests: 5 }],
    failedAuthentications: { perSecond: 1, burst: 3 },
    rates: [{ name: 'reads', per: 'principal', perSecond: 100 }],
  },
  upstream: { url: 'https://catalog.example', maxConnections: 13 },
  audit: { folder: '/var/audit', reserveBytes: 9, retention: { maxBytes: 100 * 1024 * 1024 } },
}

it('totals are divided so that the parts add up to the total, or reach the minimum', async () => {
  const settings = await read(allLimits)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), (workers) => {
      const all = Array.from({ length: workers }, (_, index) =>
        createWorkerSettings(settings, index + 1, workers),
      )
      for (const [name, value, least] of divided) {
        const [total = 0, parts] = [value(settings), all.map((each) => value(each) ?? 0)]
        const sum = parts.reduce((sum, part) => sum + part, 0)
        const isEnough = total >= workers * least
        expect([name, sum]).toEqual([name, isEnough ? total : expect.any(Number)])
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(least)
      }
      const pace = all.map(({ limits }) => limits.failedAuthentications?.perSecond ?? 0)
      expect(pace.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1)
    }),
    { numRuns: 30 },
  )
})

it('rates are counted together and unchanged; a single worker has unchanged settings', async () => {
  const settings = await read(allLimits)
  expect(createWorkerSettings(settings, 2, 3).limits.rates).toEqual(settings.limits.rates)
  expect(createWorkerSettings(settings, 1, 1)).toEqual(settings)
})

it('each worker has its own log, signed and redacted with the same keys, and the same token key', async () => {
  const settings = await read({})
  expect(createWorkerSettings(settings, 1, 3).audit).toMatchObject({
    folder: '/var/audit',
    sealKeyFile: undefined,
  })
  expect(createWorkerSettings(settings, 3, 3).audit).toMatchObject({
    folder: '/var/audit/worker-3',
    sealKeyFile: '/var/audit/seal-key.pem',
    redaction: { keyFile: '/var/audit/redaction-key' },
  })
  const stated = await read({ audit: { folder: '/var/audit', sealKeyFile: '/keys/seal.pem' } })
  expect(createWorkerSettings(settings, 1, 3).listing).toBeUndefined()
  expect(createWorkerSettings(settings, 3, 3).listing).toEqual({ tokenKeyFile: '/var/audit/token-key' })
  for (const number of [1, 2]) {
    expect(createWorkerSettings(stated, number, 2).audit.sealKeyFile).toBe('/keys/seal.pem')
  }
})

it.each([
  [1, 'warn'],
  [2, 'off'],
  ['auto', 'off'],
])('versions past the log are flagged with %s workers: %s', async (workers, continuity) => {
  expect((await read({ workers })).audit.continuity).toBe(continuity)
  expect((await read({}, { CATALOG_GATEWAY__WORKERS: String(workers) })).workers).toBe(workers)
})

it.each<[string, object, RegExp]>([
  ['no worker', { workers: 0 }, /workers: /],
  ['half a worker', { workers: 1.5 }, /workers: /],
  ['many', { workers: 'many' }, /workers: /],
  ['a console', { workers: 2, admin: { console: true } }, /admin\.console: .*expected workers: 1/],
  [
    'versions past the log',
    { workers: 'auto', audit: { folder: 'audit', continuity: 'warn' } },
    /audit\.continuity: .*expected off, or workers: 1/,
  ],
])('several workers cannot have %s', async (_, settings, message) => {
  await expect(read(settings)).rejects.toThrow(message)
})
