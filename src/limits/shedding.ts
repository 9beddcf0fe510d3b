import { InterfaceError } from '../interface/errors.ts'
import type { OperationName } from '../interface/operations.ts'
import { createPressure, type Pressure } from './pressure.ts'
import { shedClasses, shedClassOf, type ShedClass } from './shed-class.ts'

/** Refuses some of the requests where not all can be served in time: rows before listings, small reads never. */
export interface Shedding {
  /** Throws Overloaded (503) for a request that is not let in. */
  admit(upstream: string, operation: OperationName): void
  /** Throws Overloaded (503) for a document that is not sent now: documents are shed like listings. */
  admitDocument(): void
  /** The share of each class that is refused, from 0 to 1, by upstream. */
  shares(): readonly { readonly upstream: string; readonly class: ShedClass; readonly share: number }[]
  close(): void
}

/** Something that requests wait for. */
export interface WaitedFor {
  /** Milliseconds that the first in its queue has waited; 0 where nobody waits. */
  waitedMs(): number
}

/** An upstream that requests wait for. */
export interface BusyUpstream extends WaitedFor {
  readonly name: string
}

/** The gateway has more to do than it can: 503 with `retry-after`. */
export class Overloaded extends InterfaceError {
  constructor() {
    // Those who come back must not do so all at once.
    const seconds = String(1 + Math.floor(Math.random() * 5))
    super('ServiceUnavailable', 'there is more to do than can be done in time; expected a pause', {
      headers: { 'retry-after': seconds },
    })
  }
}

const tickMs = 50

/**
 * Watches how long the event loop lags, how long requests wait for their turn in it, and how long for each upstream;
 * where that stays over `mostDelayMs`, more and more is refused: of everything where the process is behind, else of
 * what would wait at that upstream. What would not wait there is let in, so that the upstream never has less to do for
 * what was refused.
 */
export function createShedding(
  mostDelayMs: number,
  turns: WaitedFor,
  upstreams: readonly BusyUpstream[],
): Shedding {
  const process = createPressure(mostDelayMs)
  const refusesAll = evenly(process)
  const gates = new Map(
    upstreams.map((upstream) => {
      const pressure = createPressure(mostDelayMs)
      return [upstream.name, { upstream, pressure, refuses: evenly(pressure) }] as const
    }),
  )
  let expectedAt = performance.now() + tickMs
  const timer = setInterval(() => {
    const now = performance.now()
    process.observe(Math.max(now - expectedAt, turns.waitedMs()))
    expectedAt = now + tickMs
    for (const { upstream, pressure } of gates.values()) pressure.observe(upstream.waitedMs())
  }, tickMs).unref()
  return {
    admit(upstream, operation) {
      const of = shedClassOf(operation)
      if (of === undefined) return
      const gate = gates.get(upstream)
      if (refusesAll(of) || (gate?.refuses(of) === true && gate.upstream.waitedMs() > 0))
        throw new Overloaded()
    },
    admitDocument() {
      if (refusesAll('listing')) throw new Overloaded()
    },
    shares: () =>
      [...gates].flatMap(([upstream, { pressure }]) =>
        shedClasses.map((each) => ({
          upstream,
          class: each,
          share: Math.max(process.share(each), pressure.share(each)),
        })),
      ),
    close: () => clearInterval(timer),
  }
}

/** Refuses of each class as many as its share says, spread evenly. */
function evenly(pressure: Pressure): (of: ShedClass) => boolean {
  const owed = { bulk: 0, data: 0, listing: 0 }
  return (of) => {
    const share = pressure.share(of)
    owed[of] = share === 0 ? 0 : owed[of] + share
    if (owed[of] < 1) return false
    owed[of] -= 1
    return true
  }
}
