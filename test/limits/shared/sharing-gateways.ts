import type { z } from 'zod'
import { limitsSchema } from '../../../src/config/listen-settings.ts'
import type { sharedLimitsSchema } from '../../../src/config/caller-limit-settings.ts'
import { allowEverything, type GatewaySetup, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream, startGatewayBefore } from '../../gateway/support/running-gateway.ts'

type Limits = Omit<z.input<typeof limitsSchema>, 'shared'>

export type Shared = Partial<z.input<typeof sharedLimitsSchema>>

export const describe = '/v1/table/sales$orders/describe'

/** Slow enough to never refill during a test. */
export const perSecond = 0.001

export function sharingSetup(port: number, limits: Limits, shared: Shared = {}): GatewaySetup {
  const subjects = { users: ['dev', 'alice'] }
  const address = `redis://127.0.0.1:${port}`
  return {
    users: ['alice'],
    tuning: { sharedLimitsTimeoutMs: 10_000 },
    policies: [{ ...allowEverything, rules: allowEverything.rules.map((rule) => ({ ...rule, subjects })) }],
    adjust: (settings) => ({
      ...settings,
      limits: limitsSchema.parse({ ...limits, shared: { url: address, ...shared } }),
    }),
  }
}

export async function gatewaysBeforeOne(...setups: readonly GatewaySetup[]): Promise<TestedGateway[]> {
  const [first, ...others] = setups
  const { gateway, upstream } = await startGatewayAndUpstream(first)
  return [gateway, ...(await Promise.all(others.map((setup) => startGatewayBefore(upstream.url, setup))))]
}

export async function metricOf(gateway: TestedGateway, name: string): Promise<number | undefined> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]
  return value === undefined ? undefined : Number(value)
}
