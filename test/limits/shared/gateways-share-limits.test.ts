import { beforeEach, expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { isWithoutRedis, startRedis, type RunningRedis } from './running-redis.ts'
import { describe, gatewaysBeforeOne, perSecond, sharingSetup } from './sharing-gateways.ts'
import { eventually } from '../../support/eventually.ts'

let redis: RunningRedis
beforeEach(async () => {
  if (!isWithoutRedis) redis = await startRedis()
})

it.skipIf(isWithoutRedis)('requests admitted by one gateway count at the other, per caller', async () => {
  const limits = { rates: [{ name: 'asking', per: 'principal' as const, perSecond, burst: 4 }] }
  const setup = sharingSetup(redis.port, limits)
  const [one, other] = (await gatewaysBeforeOne(setup, setup)) as [TestedGateway, TestedGateway]
  for (let sent = 0; sent < 4; sent += 1) expect(await one.post(describe)).toMatchObject({ status: 200 })
  // The other gateway learns of it with its first admitted request.
  await eventually(async () => {
    const refused = await other.post(describe)
    expectError(refused, { kind: 'Throttling', says: 'the limit "asking"' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1_000)
  })
  expectError(await one.post(describe), { kind: 'Throttling', says: 'the limit "asking"' })
  expect(await other.post(describe, { as: 'alice' })).toMatchObject({ status: 200 })
})

it.skipIf(isWithoutRedis)('stores no names on the server, and every key expires', async () => {
  const limits = {
    rates: [
      { name: 'asking', per: 'principal' as const, perSecond, burst: 4 },
      { name: 'sales', per: 'namespace' as const, namespaces: [['sales']], perSecond, burst: 4 },
      { name: 'from-there', per: 'address' as const, perSecond, burst: 4 },
    ],
  }
  const [gateway] = (await gatewaysBeforeOne(sharingSetup(redis.port, limits))) as [TestedGateway]
  expect(await gateway.post(describe, { as: 'alice' })).toMatchObject({ status: 200 })
  const keys = await eventually(async () => {
    const keys = (await redis.command('KEYS', '*')) as string[]
    expect(keys).toHaveLength(3)
    return keys
  })
  for (const key of keys) {
    expect(key).toMatch(/^\{catalog-gateway\}:[\w-]{22}$/)
    expect(String(await redis.command('GET', key))).toMatch(/^[\d.]+ \d+$/)
    expect(Number(await redis.command('PTTL', key))).toBeGreaterThan(0)
  }
})
