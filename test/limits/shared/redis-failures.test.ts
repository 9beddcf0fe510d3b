import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { isWithoutRedis, startRedis, type RunningRedis } from './running-redis.ts'
import { describe, gatewaysBeforeOne, metricOf, perSecond, sharingSetup } from './sharing-gateways.ts'
import { eventually } from '../../support/eventually.ts'

const list = '/v1/table/sales$orders/version/list'
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

it.skipIf(isWithoutRedis).each(everyInTheLongForm(Object.entries(ways), 3))(
  'with a server that %s, all or no requests are admitted, depending on the settings',
  async (_name, { fail, repair }) => {
    const redis = await startRedis({ options: ['--lua-time-limit', '10'] })
    const setups = (['open', 'closed'] as const).map((onFailure) =>
      sharingSetup(redis.port, limits, { onFailure, timeoutMs: 200 }),
    )
    const [open, closed] = (await gatewaysBeforeOne(...setups)) as [TestedGateway, TestedGateway]
    for (const gateway of [open, closed]) {
      await eventually(async () => expect(await metricOf(gateway, connected)).toBe(1))
      await eventually(async () => expect(await gateway.post(describe)).toMatchObject({ status: 200 }))
    }
    await fail(redis)
    await eventually(async () => {
      // Each request is served immediately, and reveals the failure to the next one.
      expect((await open.post(describe)).status).toBeLessThan(500)
      expect(await metricOf(open, connected)).toBe(0)
      const refused = await closed.post(describe)
      expectError(refused, {
        kind: 'ServiceUnavailable',
        says: 'the server of the shared limits .* is unavailable; retry in 1 s',
      })
      expect(refused.headers['retry-after']).toBe('1')
    })
    await eventually(async () =>
      expectError(await open.post(describe), { kind: 'Throttling', says: 'the limit "asking"' }),
    )
    expect(await closed.get(list)).toMatchObject({ status: 200 })
    for (const gateway of [open, closed]) {
      expect((await readiness(gateway)).status).toBe(200)
      expect(await metricOf(gateway, failures)).toBeGreaterThan(0)
    }
    await repair(redis)
    await eventually(async () => {
      expect((await closed.post(describe)).status).not.toBe(503)
      expect(await metricOf(closed, connected)).toBe(1)
    })
  },
)

it.skipIf(isWithoutRedis)(
  'a gateway starts without its server, and is ready unless it must refuse requests',
  async () => {
    const redis = await startRedis()
    await redis.kill()
    const setups = (['open', 'closed'] as const).map((onFailure) =>
      sharingSetup(redis.port, limits, { onFailure, timeoutMs: 200 }),
    )
    const [open, closed] = (await gatewaysBeforeOne(...setups)) as [TestedGateway, TestedGateway]
    expect((await readiness(open)).status).toBe(200)
    const response = await readiness(closed)
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('shared limits not connected yet')
    expect(await open.post(describe)).toMatchObject({ status: 200 })
    expect(await closed.post(describe)).toMatchObject({ status: 503 })
    await redis.start()
    await eventually(async () => expect((await readiness(closed)).status).toBe(200))
    await eventually(async () => expect(await closed.post(describe)).toMatchObject({ status: 200 }))
    await redis.kill()
    await eventually(async () => expect(await closed.post(describe)).toMatchObject({ status: 503 }))
    expect((await readiness(closed)).status).toBe(200)
  },
)

function readiness(gateway: TestedGateway): Promise<Response> {
  return fetch(`${gateway.adminUrl}/readyz`)
}
