import { Gauge, type Registry } from 'prom-client'
import type { BodyMemory } from '../../limits/body-memory.ts'

/** Adds gauges of the memory for JSON bodies. */
export function observeBodyMemory(registry: Registry, memory: BodyMemory): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    registry.registerMetric(
      new Gauge({
        name: `catalog_gateway_${name}`,
        help,
        aggregator: 'sum',
        registers: [],
        collect() {
          this.set(value())
        },
      }),
    )
  }
  gauge('json_memory_bytes', 'Memory that is reserved for JSON bodies of requests.', () =>
    memory.reservedBytes(),
  )
  gauge('max_json_memory_bytes', 'The most memory that may be reserved for them.', () => memory.maxBytes)
}
