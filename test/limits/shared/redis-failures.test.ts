import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { isWithoutRedis, startRedis, type RunningRedis } from './running-redis.ts'
import { describe, gatewaysBeforeOne, metricOf, perSecond, sharingSetup } from './sharing-gateways.ts'
import { eventually } from '../../support/eventually.ts'

const limits = {
  rates: [{ name: 'asking', per: 'all' as const, operations: ['DescribeTable'], perSecond, burst: 8 }],
}
const connected = 'catalog_gateway_shared_limits_connected'
const failures = 'catalog_gateway_shared_limits_sync_failures_total'

interface Failure {
  readonly fail: (redis: RunningRedis) => unknown
  readonly repair: (redis: RunningRedis) => unknown
}

const ways: Readonly<Record<string, Failure>> = {
  'is gone': { fail: (redis) => redis.kill(), repair: (redis) => redis.start() },
  'takes no writes, as another one took over': {
    fail: (redis) => redis.command('REPLICAOF', '127.0.0.1', '1'),
    repair: (redis) => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
  'has no memory left': {
    fail: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
    repair: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
  hangs: { fail: (redis) => redis.pause(), repair: (redis) => redis.resume() },
  'is busy with a script that never ends': {
    async fail(redis) {
      redis.command('EVAL', 'while true do end', '0').catch(() => undefined)
      await eventually(() => expect(redis.command('GET', 'any')).rejects.toThrow('BUSY'))
    },
    repair: (redis) => redis.command('SCRIPT', 'KILL'),
  },
  'throws the gateway out': {
    async fail(redis) {
      await redis.command('ACL', 'SETUSER', 'default', '-evalsha')
      await redis.command('CLIENT', 'KILL', 'TYPE', 'normal')
    },
    repair: (redis) => redis.command('ACL', 'SETUSER', 'default', '+evalsha'),
  },
}

/** A failure must be noticed soon. */
const soon = { tuning: { sharedLimitsTimeoutMs: 200 } }

it.skipIf(isWithoutRedis).each(everyInTheLongForm(Object.entries(ways), 3))(
  'with a server that %s, a gateway counts alone',
  async (_name, { fail, repair }) => {
    const redis = await startRedis({ options: ['--lua-time-limit', '10'] })
    const [gateway] = (await gatewaysBeforeOne({ ...sharingSetup(redis.port, limits), ...soon })) as [
      TestedGateway,
    ]
    await eventually(async () => expect(await metricOf(gateway, connected)).toBe(1))
    expect(await gateway.post(describe)).toMatchObject({ status: 200 })
    await fail(redis)
    await eventually(async () => {
      // Each request is served immediately, and reveals the failure to the next one.
      expect((await gateway.post(describe)).status).toBeLessThan(500)
      expect(await metricOf(gateway, connected)).toBe(0)
    })
    await eventually(async () =>
      expectError(await gateway.post(describe), { kind: 'Throttling', says: 'the limit "asking"' }),
    )
    expect(await readiness(gateway)).toBe(200)
    expect(await metricOf(gateway, failures)).toBeGreaterThan(0)
    await repair(redis)
    await eventually(async () => {
      await gateway.post(describe)
      expect(await metricOf(gateway, connected)).toBe(1)
    })
  },
)

it.skipIf(isWithoutRedis)('a gateway starts without its server, and is ready', async () => {
  const redis = await startRedis()
  await redis.kill()
  const [gateway] = (await gatewaysBeforeOne({ ...sharingSetup(redis.port, limits), ...soon })) as [
    TestedGateway,
  ]
  expect(await readiness(gateway)).toBe(200)
  expect(await gateway.post(describe)).toMatchObject({ status: 200 })
  await redis.start()
  await eventually(async () => expect(await metricOf(gateway, connected)).toBe(1))
})

async function readiness(gateway: TestedGateway): Promise<number> {
  return (await fetch(`${gateway.adminUrl}/readyz`)).status
}
