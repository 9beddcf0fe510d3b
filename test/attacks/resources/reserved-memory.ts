import type { TestedGateway } from '../../gateway/support/open-gateway.ts'

/** Bytes that requests have reserved of the memory for JSON. */
export async function readReservedMemory(gateway: TestedGateway): Promise<number> {
  const metrics = await gateway.metrics()
  return Number(/^catalog_gateway_json_memory_bytes (.+)$/m.exec(metrics)?.[1])
}
