import { Gauge, type Registry } from 'prom-client'

/** One thing that must be well before requests are sent here. */
export interface ReadinessCheck {
  readonly name: string
  /** Undefined when well, or else what is wrong, in words for an operator. */
  readonly problem: () => string | undefined | Promise<string | undefined>
}

/** What is wrong, by the name of the check; empty where all is well. */
export async function findProblems(
  checks: readonly ReadinessCheck[],
): Promise<Readonly<Record<string, string>>> {
  const problems: Record<string, string> = {}
  for (const { name, problem } of checks) {
    const found = await problem()
    if (found !== undefined) problems[name] = found
  }
  return problems
}

/** Adds a gauge of the checks, for those who look back at why requests were not sent here. */
export function registerReadinessMetrics(registry: Registry, checks: readonly ReadinessCheck[]): void {
  const gauge = new Gauge({
    name: 'catalog_gateway_ready',
    help: 'Whether a check of /readyz passes (1) or fails (0).',
    labelNames: ['check'],
    aggregator: 'min',
    registers: [],
    async collect() {
      const problems = await findProblems(checks)
      for (const { name } of checks) this.set({ check: name }, name in problems ? 0 : 1)
    },
  })
  registry.registerMetric(gauge)
}
