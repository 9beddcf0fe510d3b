import type { TestedGateway } from './open-gateway.ts'

/** Number of refusals with that reason in the metrics of the gateway, at any stage. */
export async function countRefusals(gateway: TestedGateway, reason: string): Promise<number> {
  const metrics = await gateway.metrics()
  const lines = [
    ...metrics.matchAll(/^catalog_gateway_refusals_total\{stage="\w+",reason="(\w+)"\} (\d+)$/gm),
  ]
  return lines.reduce((sum, [, found, count]) => sum + (found === reason ? Number(count) : 0), 0)
}
