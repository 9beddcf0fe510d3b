import type { Metrics } from '../metrics/metrics.ts'

/** A condition for receiving requests. */
export interface ReadinessCheck {
  readonly name: string
  /** Whether a problem is only reported, and the gateway receives requests nevertheless. */
  readonly isWarning?: boolean
  /** In words for an operator; undefined if the check passes. */
  readonly findProblem: () => string | undefined | Promise<string | undefined>
}

/** What checks found, by their names. A gateway is ready if it has no problems. */
export interface Readiness {
  readonly problems: Readonly<Record<string, string>>
  readonly warnings: Readonly<Record<string, string>>
}

export async function readReadiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const problems: Record<string, string> = {}
  const warnings: Record<string, string> = {}
  for (const { name, isWarning = false, findProblem } of checks) {
    const found = await findProblem()
    if (found !== undefined) (isWarning ? warnings : problems)[name] = found
  }
  return { problems, warnings }
}

/** Exports later why requests were not routed to this gateway. */
export function exportReadiness({ ready }: Metrics, checks: readonly ReadinessCheck[]): void {
  ready(async () => {
    const { problems } = await readReadiness(checks)
    return checks
      .filter(({ isWarning = false }) => !isWarning)
      .map(({ name }) => [{ check: name }, name in problems ? 0 : 1])
  })
}
