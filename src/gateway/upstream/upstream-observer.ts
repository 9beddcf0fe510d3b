import type { CircuitState } from './circuit-breaker.ts'

/** Receives each transition of an upstream once. */
export interface UpstreamObserver {
  /** `problem`: why the latest check failed; undefined if it passed. */
  healthChanged(upstream: string, isHealthy: boolean, problem: string | undefined): void
  circuitChanged(upstream: string, state: CircuitState, problem: string | undefined): void
}

interface UpstreamState {
  readonly isHealthy: boolean
  readonly circuit: CircuitState
}

/** Returns a function that reports what changed since the previous check. An upstream starts healthy and closed. */
export function createTransitionReporter(
  upstream: string,
  observer: UpstreamObserver,
): (state: UpstreamState, problem: string | undefined) => void {
  let last: UpstreamState = { isHealthy: true, circuit: 'closed' }
  return (state, problem) => {
    const previous = last
    last = state
    if (state.isHealthy !== previous.isHealthy) observer.healthChanged(upstream, state.isHealthy, problem)
    if (state.circuit !== previous.circuit) observer.circuitChanged(upstream, state.circuit, problem)
  }
}
