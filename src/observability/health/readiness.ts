import { Gauge, type Registry } from 'prom-client'

/** A condition for receiving requests. */
export interface ReadinessCheck {
  readonly name: string
  /** In words for an operator; undefined if the check passes. */
  readonly findProblem: () => string | undefined | Promise<string | undefined>
}

/** Problems by the name of the check; empty if all checks pass. */
export async function findProblems(
  checks: readonly ReadinessCheck[],
): Promise<Readonly<Record<string, string>>> {
  const problems: Record<string, string> = {}
  for (const { name, findProblem } of checks) {
    const found = await findProblem()
    if (found !== undefined) problems[name] = found
  }
  return problems
}

/** Shows later why requests were not routed to this gateway. */
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
