import { Gauge, type Registry } from 'prom-client'

type Value = number | undefined

/** Registers a gauge that is read whenever metrics are rendered; without a value it is absent. */
export function registerGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Value | Promise<Value>,
): void {
  const gauge = new Gauge({
    name: `catalog_gateway_${name}`,
    help,
    registers: [],
    async collect() {
      // The default of a gauge, 0, would be a value.
      const value = await read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
  registry.registerMetric(gauge)
}
