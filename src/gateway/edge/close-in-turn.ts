import { setTimeout as pause } from 'node:timers/promises'
import type { Listener } from './listener.ts'

/** What there is to end, and how long each step may take. */
export interface ClosingSteps {
  readonly listener: Listener
  /** Milliseconds in which load balancers see that no more requests are wanted. */
  readonly delayMs: number
  /** Milliseconds for what is under way. */
  readonly graceMs: number
  /** Whether any request is on its way to an upstream or back, though its client may have left. */
  readonly isPassing: () => boolean
  /** Breaks off what is still under way with the upstreams. */
  readonly endExchanges: () => void
  /** The grace is over, and there are requests that are now cut off. */
  readonly stragglers: () => void
}

/** What clients have sent, but has not been seen yet, arrives within this time. */
const lingerMs = 250
/** What was broken off ends at once, but for its outcome in the audit log. */
const breakOffMs = 10_000
const lookMs = 10

/**
 * Ends a server without a reset of anything that it took: tells clients with each answer that its connection
 * closes, then takes no new connections, then waits for what is under way, and at last closes what is left.
 */
export async function closeInTurn(steps: ClosingSteps): Promise<void> {
  const { listener, isPassing } = steps
  listener.closeWhenAnswered()
  await pause(steps.delayMs)
  await until(() => listener.open() === 0, lingerMs)
  const closed = listener.stopAccepting()
  const isOver = (): boolean => !listener.isBusy() && !isPassing()
  await until(() => isOver() && listener.open() === 0, lingerMs)
  if (!(await until(isOver, steps.graceMs))) steps.stragglers()
  listener.destroyAll()
  if (isPassing()) {
    steps.endExchanges()
    await until(() => !isPassing(), breakOffMs)
  }
  await closed
}

/** Looks until it is so, and no longer than that; answers whether it is. */
async function until(isSo: () => boolean, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds
  while (!isSo()) {
    if (performance.now() >= end) return false
    await pause(lookMs)
  }
  return true
}
