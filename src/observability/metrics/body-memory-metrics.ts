import { Gauge, type Registry } from 'prom-client'
import type { BodyMemory } from '../../limits/overload/body-memory.ts'

export function registerBodyMemoryMetrics(registry: Registry, memory: BodyMemory): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    registry.registerMetric(
      new Gauge({
        name: `catalog_gateway_${name}`,
        help,
        registers: [],
        collect() {
          this.set(value())
        },
      }),
    )
  }
  gauge('json_memory_bytes', 'Memory reserved for JSON request bodies.', () => memory.reservedBytes())
  gauge('max_json_memory_bytes', 'Limit of the memory for JSON request bodies.', () => memory.maxBytes)
}
